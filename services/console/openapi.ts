import { type OpenApiDocument, openApiDocument } from '../../core/openapi.ts'
import { actionPaths } from './actions/routes.ts'
import { diagnosisPaths } from './diagnosis/routes.ts'
import { erasurePaths } from './erasure/routes.ts'
import { gapPaths } from './gaps/routes.ts'
import { incidentPaths } from './incidents/routes.ts'
import { intentPaths } from './intents/routes.ts'
import { positionPaths } from './positions/routes.ts'
import { publicationPaths } from './publications/routes.ts'
import { quarantinePaths } from './quarantine/openapi.ts'
import { rebuildPaths } from './rebuild/openapi.ts'
import { recoveryPaths } from './recovery/routes.ts'
import { replayPaths } from './replay/openapi.ts'
import { retentionPaths } from './retention/routes.ts'
import { topicPaths } from './topic/routes.ts'
import { verifyPaths } from './verify/openapi.ts'

/** The OpenAPI 3.1 document of the operator API. Each part of the API describes its own paths. */
export const consoleDocument = (): OpenApiDocument =>
  openApiDocument(
    {
      title: 'Notes operator API',
      version: '1.0.0',
      description:
        'For operators: what cannot be applied, what is missing, and what to do about it. Every action is recorded with who and why.',
    },
    {
      ...actionPaths,
      ...diagnosisPaths,
      ...publicationPaths,
      ...verifyPaths,
      ...quarantinePaths,
      ...gapPaths,
      ...incidentPaths,
      ...positionPaths,
      ...topicPaths,
      ...recoveryPaths,
      ...replayPaths,
      ...intentPaths,
      ...erasurePaths,
      ...rebuildPaths,
      ...retentionPaths,
    },
    true,
  )
