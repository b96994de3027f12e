/** The import rules of ARCHITECTURE.md, "What may import what". Run by `npm run deps`. */
const outside = (...folders) => `^(?!(${folders.join('|')})/)[^/]+/`
module.exports = {
  forbidden: [
    {
      name: 'core-imports-nothing-of-ours',
      comment: 'core/ is what several parts share; it may read the shipped schemas, nothing else.',
      severity: 'error',
      from: { path: '^core/' },
      to: { path: '^(services|connectors|cli|lab|test|database)/' },
    },
    {
      name: 'no-service-to-service',
      comment: 'A service is one process; services meet only over HTTP, Kafka and their databases.',
      severity: 'error',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^services/([^/]+)/', pathNot: '^services/$1/' },
    },
    {
      name: 'services-and-connectors-use-core-only',
      severity: 'error',
      from: { path: '^(services|connectors)/' },
      to: { path: '^(cli|lab|test|database)/' },
    },
    {
      name: 'connectors-know-no-service',
      severity: 'error',
      from: { path: '^connectors/' },
      to: { path: '^services/' },
    },
    {
      name: 'services-know-no-connector',
      severity: 'error',
      from: { path: '^services/' },
      to: { path: '^connectors/' },
    },
    {
      name: 'nothing-imports-lab-or-test',
      severity: 'error',
      from: { path: outside('lab', 'test') },
      to: { path: '^(lab|test)/' },
    },
    {
      name: 'kafkajs-only-behind-its-seam',
      comment: 'See docs/adr: kafkajs may be replaced; only core/kafka knows it.',
      severity: 'error',
      from: { path: '^(services|connectors|cli|lab|core|database|schemas)/', pathNot: '^core/kafka/' },
      to: { path: 'node_modules/kafkajs' },
    },
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-dev-dependency-in-production',
      severity: 'error',
      from: { path: '^(core|services|connectors|schemas|database|cli)/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    { name: 'not-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
}
