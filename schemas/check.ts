// `npm run schemas:check`: may the working schema be registered and released?
import { fileURLToPath } from 'node:url'
import { SHIPPED_SCHEMA } from '../core/event-schema.ts'
import { problemsOf, releaseStateOf } from './compatibility.ts'
import { readReleases, SUMS_FILE } from './releases.ts'

const { releases, problems: folderProblems } = readReleases(
  fileURLToPath(new URL('./released', import.meta.url)),
)
const problems = [...folderProblems, ...problemsOf(SHIPPED_SCHEMA, releases)]
if (problems.length > 0) {
  process.stderr.write(`schemas/note-revision.avsc must not be used as it is:\n  ${problems.join('\n  ')}\n`)
  process.exit(1)
}
const state = releaseStateOf(SHIPPED_SCHEMA, releases)
if (state.state === 'released') {
  process.stdout.write(`schemas/note-revision.avsc is ${state.file} and reads every release.\n`)
} else {
  const file = `note-revision.v${state.next}.avsc`
  process.stdout.write(
    `schemas/note-revision.avsc reads every release and is not released itself. When it goes out:\n  cp schemas/note-revision.avsc schemas/released/${file} && (cd schemas/released && sha256sum ${file} >> ${SUMS_FILE})\n`,
  )
}
