"""The Lambdas' layers, and the bundles that layers are made of."""
