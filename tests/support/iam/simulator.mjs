// Judges calls by IAM policies, offline. Standard input and output are JSON: see simulator.py.
import { runSimulation } from '@cloud-copilot/iam-simulate'

let text = ''
for await (const chunk of process.stdin) text += chunk
const verdicts = []
for (const { principal, action, resource, account, context, statements, resourcePolicy } of JSON.parse(text)) {
  const policy = { Version: '2012-10-17', Statement: statements }
  const judged = await runSimulation(
    {
      request: { principal, action, resource: { resource, accountId: account }, contextVariables: context },
      identityPolicies: [{ name: 'role', policy }],
      serviceControlPolicies: [],
      resourceControlPolicies: [],
      ...(resourcePolicy ? { resourcePolicy } : {}),
    },
    {},
  )
  verdicts.push(judged.overallResult ?? `${judged.errors.message} ${JSON.stringify(judged.errors)}`)
}
process.stdout.write(JSON.stringify(verdicts))
