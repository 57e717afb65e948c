// Compiles every module of a folder as it will lie below /opt. Usage: node compile.mjs FOLDER MAJOR.MINOR
// It exits with 1 unless the interpreter is a final release of that version.
import { loadPyodide } from 'pyodide'

const [folder, version] = process.argv.slice(2)
const python = await loadPyodide()
python.mountNodeFS('/opt', folder)
python.globals.set('version', version)
python.runPython(`
import compileall, py_compile, sys

here = sys.version_info
if f"{here.major}.{here.minor}" != version or here.releaselevel != "final":
    raise SystemExit(f"This is Python {sys.version}")
compileall.compile_dir("/opt", quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
`)
