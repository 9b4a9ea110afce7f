export { type BootstrapOptions, bootstrapInterval } from './bootstrap-interval.ts';
export { type ClusterCodes, type Clusters, clusterCodes } from './clusters.ts';
export { normalQuantile } from './normal-quantile.ts';
export { type AverageOverCases, averageOverCases, passAtK, passHatK } from './pass-at-k.ts';
export { type CaseValues, passRateInterval } from './pass-rate-interval.ts';
export { type SeededRandom, seededRandom, seedOf } from './seeded-random.ts';
export { clusteredStandardError, type MeanWithError, meanStandardError } from './standard-error.ts';
export { type Numbers, sum } from './sum.ts';
export { type Interval, wilson } from './wilson.ts';
