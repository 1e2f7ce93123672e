package coordination

// Messages between agents.
const (
	TypeA2ASend                = "a2a.send"
	TypeA2AResponse            = "a2a.response"
	TypeA2AComplete            = "a2a.complete"
	TypeA2AAutoRoute           = "a2a.auto_route"
	TypeA2ARetry               = "a2a.retry"
	TypeA2AForbidden           = "a2a.forbidden"
	TypeA2ADispatchFailed      = "a2a.dispatch_failed"
	TypeA2ASendInitiated       = "a2a.send.initiated"
	TypeA2ASendPolicyRejected  = "a2a.send.policy_rejected"
	TypeA2ASendCompleted       = "a2a.send.completed"
	TypeA2AConcurrencyThrottle = "a2a.concurrency.throttle"
	TypeA2AConcurrencyTimeout  = "a2a.concurrency.timeout"
)

// Durable jobs behind exchanges.
const (
	TypeA2AJobCreated   = "a2a.job.created"
	TypeA2AJobRunning   = "a2a.job.running"
	TypeA2AJobCompleted = "a2a.job.completed"
	TypeA2AJobFailed    = "a2a.job.failed"
	TypeA2AJobAbandoned = "a2a.job.abandoned"
	TypeA2AJobResumed   = "a2a.job.resumed"
	TypeA2AJobCancelled = "a2a.job.cancelled"
)

// Collaboration in Discord threads.
const (
	TypeA2ACollaborateRequested = "a2a.collaborate.requested"
	TypeA2ACollaborateSent      = "a2a.collaborate.sent"
	TypeA2ACollaborateFailed    = "a2a.collaborate.failed"
	TypeA2ACollaborateResponded = "a2a.collaborate.responded"
	TypeCollabMessage           = "collab.message"
	TypeCollabRateLimited       = "collab.rate_limited"
	TypeCollabReminded          = "collab.reminder.sent"
	TypeCollabEscalated         = "collab.escalated"
)

// Sub-agents.
const (
	TypeA2ASpawn            = "a2a.spawn"
	TypeA2ASpawnResult      = "a2a.spawn_result"
	TypeDelegationSpawned   = "delegation.spawned"
	TypeDelegationRunning   = "delegation.running"
	TypeDelegationCompleted = "delegation.completed"
	TypeDelegationFailed    = "delegation.failed"
	TypeDelegationVerified  = "delegation.verified"
	TypeDelegationRejected  = "delegation.rejected"
	TypeDelegationRetrying  = "delegation.retrying"
	TypeDelegationAbandoned = "delegation.abandoned"
)

// Tasks.
const (
	TypeTaskStarted           = "task.started"
	TypeTaskUpdated           = "task.updated"
	TypeTaskCompleted         = "task.completed"
	TypeTaskForceCompleted    = "task.force_completed"
	TypeTaskCancelled         = "task.cancelled"
	TypeTaskApproved          = "task.approved"
	TypeTaskBlocked           = "task.blocked"
	TypeTaskResumed           = "task.resumed"
	TypeTaskBacklogAdded      = "task.backlog_added"
	TypeTaskBacklogPicked     = "task.backlog_picked"
	TypeTaskStopGuardBlocked  = "task.stop_guard_blocked"
	TypeTaskVerified          = "task.verified"
	TypeTaskRejected          = "task.rejected"
	TypeTaskRetrying          = "task.retrying"
	TypeBacklogAutoPicked     = "backlog.auto_picked"
	TypeContinuationSent      = "continuation.sent"
	TypeContinuationBackoff   = "continuation.backoff"
	TypeContinuationComplete  = "continuation.complete"
	TypeContinuationCompleted = "continuation.completed"
	TypeUnblockRequested      = "unblock.requested"
	TypeUnblockFailed         = "unblock.failed"
	TypeResumeReminderSent    = "resume_reminder.sent"
	TypeZombieAbandoned       = "zombie.abandoned"
	TypePlanSubmitted         = "plan.submitted"
	TypePlanApproved          = "plan.approved"
	TypePlanRejected          = "plan.rejected"
)

// Milestones of the Task-Hub.
const (
	TypeMilestoneSynced     = "milestone.synced"
	TypeMilestoneSyncFailed = "milestone.sync_failed"
)

// What the system needs to resume after a restart.
const (
	TypeSessionCreated = "session.created"
	TypeSessionPatched = "session.patched"
	TypeSessionMessage = "session.message"
	TypeSessionReset   = "session.reset"
	TypeSessionDeleted = "session.deleted"
	TypeRunQueued      = "run.queued"
	TypeRunStarted     = "run.started"
	TypeRunParked      = "run.parked"
	TypeRunWoken       = "run.woken"
	TypeRunEnded       = "run.ended"
	TypeRunFailed      = "run.failed"
	TypeRunAborted     = "run.aborted"
	TypeRunTimedOut    = "run.timed_out"
)

// Calls of tools with an effect outside of this program: an intent, then one of the others.
const (
	TypeToolCalled         = "tool.called"
	TypeToolEnded          = "tool.ended"
	TypeToolOutcomeUnknown = "tool.outcome_unknown"
	TypeToolOutput         = "tool.output"

	TypeToolApprovalRequested = "tool.approval_requested"
	TypeToolApprovalDecided   = "tool.approval_decided"
	TypeToolApprovalRevoked   = "tool.approval_revoked"
	TypeSandboxProbed         = "sandbox.probed"
)

// Scheduled jobs. See package coordination/schedule.
const (
	TypeCronJobAdded     = "cron.job.added"
	TypeCronJobUpdated   = "cron.job.updated"
	TypeCronJobRemoved   = "cron.job.removed"
	TypeCronRunDue       = "cron.run.due"
	TypeCronRunMissed    = "cron.run.missed"
	TypeCronRunStarted   = "cron.run.started"
	TypeCronRunFinished  = "cron.run.finished"
	TypeCronRunDelivered = "cron.run.delivered"
)

// Side effects outside of the log. See package coordination/work.
const (
	TypeWorkScheduled    = "work.scheduled"
	TypeWorkLeased       = "work.leased"
	TypeWorkReleased     = "work.released"
	TypeWorkLeaseExpired = "work.lease_expired"
	TypeWorkCompleted    = "work.completed"
	TypeWorkCancelled    = "work.cancelled"
	TypeWorkDead         = "work.dead"
	TypeWorkResent       = "work.resent"
)

// Discord.
const (
	TypeDiscordInboundHandled       = "discord.inbound.handled"
	TypeDiscordInboundObserved      = "discord.inbound.observed"
	TypeDiscordInboundDropped       = "discord.inbound.dropped"
	TypeDiscordSent                 = "discord.sent"
	TypeDiscordSendFailed           = "discord.send_failed"
	TypeDiscordDeliveryUnknown      = "discord.delivery_unknown"
	TypeIdentityBotRegistered       = "identity.bot_registered"
	TypeIdentityBotUnregistered     = "identity.bot_unregistered"
	TypeDiscordInboundEdited        = "discord.inbound.edited"
	TypeDiscordInboundDeleted       = "discord.inbound.deleted"
	TypeDiscordReaction             = "discord.reaction"
	TypePairingRequested            = "pairing.requested"
	TypePairingApproved             = "pairing.approved"
	TypePairingRevoked              = "pairing.revoked"
	TypePairingRefused              = "pairing.refused"
	TypeThreadCreated               = "thread.created"
	TypeThreadParticipantRegistered = "thread.participant.registered"
	TypeThreadParticipantExpired    = "thread.participant.expired"
	TypeThreadSuspended             = "thread.suspended"
	TypeThreadReleased              = "thread.released"
)

// Notifications for people. See package services/notifier.
const (
	TypeSinkAdvanced = "sink.advanced"
)

// The log about itself.
const (
	TypeConfigApplied              = "config.applied"
	TypeConfigPatched              = "config.patched"
	TypeLogRedacted                = "log.redacted"
	TypeLogForgotten               = "log.forgotten"
	TypeLogArchived                = "log.archived"
	TypeImportRejected             = "import.rejected"
	TypeImportCompleted            = "import.completed"
	TypeImportMigrating            = "import.migrating"
	TypeImportMigrated             = "import.migrated"
	TypeProjectionParked           = "projection.parked"
	TypeProjectionRebuilt          = "projection.rebuilt"
	TypeWorkSessionCategorySet     = "work_session.category_set"
	TypeWorkSessionCategoryCleared = "work_session.category_cleared"
	TypeFileChanged                = "file.changed"
	TypeFileImported               = "file.imported"
	TypeFileWritten                = "file.written"
	TypeFileConflict               = "file.conflict"
	TypeGatewayStarted             = "gateway.started"
	TypeGatewayStopped             = "gateway.stopped"
	TypeGatewayHeartbeat           = "gateway.heartbeat"
)

// TypeInfo describes an event type.
type TypeInfo struct {
	Type string
	// Role is the role set by producers. For conversation.main types it is the usual one: outside of main sessions they are delegation.
	Role     Role
	Internal bool   // see Internal
	Doc      string // what the event means
}

// Catalogue lists every event type that this system produces or knows, by subject.
func Catalogue() []TypeInfo {
	types := make([]TypeInfo, 0, len(catalogue))
	for _, info := range catalogue {
		types = append(types, catalogueIndex[info.Type])
	}
	return types
}

// Lookup finds a type in the catalogue.
func Lookup(typ string) (info TypeInfo, ok bool) {
	info, ok = catalogueIndex[typ]
	return info, ok
}

// internalFamilies are type prefixes of the system's own bookkeeping.
var internalFamilies = [...]string{
	"session.", "run.", "discord.", "thread.", "identity.", "config.", "import.", "projection.", "work_session.", "file.",
	"work.", "sink.", "log.", "pairing.", "tool.", "sandbox.", "cron.",
}

// Internal reports whether events of a type, known or not, are the system's own bookkeeping: the Task-Monitor API omits those produced
// here unless asked with scope=all.
func Internal(typ string) bool {
	return hasAnyPrefix(typ, internalFamilies[:])
}

var catalogueIndex = newCatalogueIndex()

func newCatalogueIndex() map[string]TypeInfo {
	index := make(map[string]TypeInfo, len(catalogue))
	for _, info := range catalogue {
		info.Internal = Internal(info.Type)
		index[info.Type] = info
	}
	return index
}

var catalogue = [...]TypeInfo{
	{Type: TypeA2ASend, Role: RoleConversation, Doc: "an agent sends another a message; first of its exchange, before any waiting"},
	{Type: TypeA2AResponse, Role: RoleConversation, Doc: "an agent sends another a message; first of its exchange, before any waiting"},
	{Type: TypeA2AComplete, Role: RoleConversation, Doc: "the exchange is over; exactly one per exchange"},
	{Type: TypeA2AAutoRoute, Role: RoleConversation, Doc: "a mention in a Discord channel was routed as an exchange"},
	{Type: TypeA2ARetry, Role: RoleObservability, Doc: "an attempt of an exchange is repeated after a back-off"},
	{Type: TypeA2AForbidden, Role: RoleObservability, Doc: "policy refused a message"},
	{Type: TypeA2ADispatchFailed, Role: RoleObservability, Doc: "a message could not be delivered to its target"},
	{Type: TypeA2ASendInitiated, Role: RoleObservability, Doc: "a message was accepted for sending"},
	{Type: TypeA2ASendPolicyRejected, Role: RoleObservability, Doc: "a message was refused by policy"},
	{Type: TypeA2ASendCompleted, Role: RoleObservability, Doc: "sending a message was completed"},
	{Type: TypeA2AConcurrencyThrottle, Role: RoleObservability, Doc: "a flow waits for its target's concurrency permit"},
	{Type: TypeA2AConcurrencyTimeout, Role: RoleObservability, Doc: "no concurrency permit became free in time"},
	{Type: TypeA2AJobCreated, Role: RoleOrchestration, Doc: "a job is stored, before anything is dispatched"},
	{Type: TypeA2AJobRunning, Role: RoleOrchestration, Doc: "a job entered a phase"},
	{Type: TypeA2AJobCompleted, Role: RoleOrchestration, Doc: "a job ended successfully"},
	{Type: TypeA2AJobFailed, Role: RoleOrchestration, Doc: "a job ended with an error"},
	{Type: TypeA2AJobAbandoned, Role: RoleOrchestration, Doc: "a job was given up: too old or resumed too often"},
	{Type: TypeA2AJobResumed, Role: RoleOrchestration, Doc: "a job continues after a restart"},
	{Type: TypeA2AJobCancelled, Role: RoleOrchestration, Doc: "a job was stopped"},
	{Type: TypeA2ACollaborateRequested, Role: RoleOrchestration, Doc: "an agent asks another for help in a thread"},
	{Type: TypeA2ACollaborateSent, Role: RoleOrchestration, Doc: "the request was posted in the thread"},
	{Type: TypeA2ACollaborateFailed, Role: RoleOrchestration, Doc: "the request could not be posted"},
	{Type: TypeA2ACollaborateResponded, Role: RoleOrchestration, Doc: "the target answered in the thread"},
	{Type: TypeCollabMessage, Role: RoleConversation, Doc: "a message in a thread in which agents ask each other"},
	{Type: TypeCollabRateLimited, Role: RoleOrchestration, Doc: "a pair of agents asked each other too often"},
	{Type: TypeCollabReminded, Role: RoleOrchestration, Doc: "the target was reminded of an unanswered request"},
	{Type: TypeCollabEscalated, Role: RoleOrchestration, Doc: "an unanswered request was escalated to a person"},
	{Type: TypeA2ASpawn, Role: RoleDelegation, Doc: "an agent starts a sub-agent"},
	{Type: TypeA2ASpawnResult, Role: RoleDelegation, Doc: "the start was accepted or failed"},
	{Type: TypeDelegationSpawned, Role: RoleDelegation, Doc: "a task's delegation was created"},
	{Type: TypeDelegationRunning, Role: RoleDelegation, Doc: "the sub-agent is working"},
	{Type: TypeDelegationCompleted, Role: RoleDelegation, Doc: "the sub-agent reported completion"},
	{Type: TypeDelegationFailed, Role: RoleDelegation, Doc: "the sub-agent failed"},
	{Type: TypeDelegationVerified, Role: RoleDelegation, Doc: "the result was accepted"},
	{Type: TypeDelegationRejected, Role: RoleDelegation, Doc: "the result was rejected"},
	{Type: TypeDelegationRetrying, Role: RoleDelegation, Doc: "the delegation is retried"},
	{Type: TypeDelegationAbandoned, Role: RoleDelegation, Doc: "the delegation was given up"},
	{Type: TypeTaskStarted, Role: RoleOrchestration, Doc: "an agent starts a task, or requests approval for one"},
	{Type: TypeTaskUpdated, Role: RoleOrchestration, Doc: "a line of progress, or changed steps"},
	{Type: TypeTaskCompleted, Role: RoleOrchestration, Doc: "a task was completed"},
	{Type: TypeTaskForceCompleted, Role: RoleOrchestration, Doc: "a task was completed with steps left"},
	{Type: TypeTaskCancelled, Role: RoleOrchestration, Doc: "a task was cancelled"},
	{Type: TypeTaskApproved, Role: RoleOrchestration, Doc: "a task was approved and may start"},
	{Type: TypeTaskBlocked, Role: RoleOrchestration, Doc: "a task waits for help"},
	{Type: TypeTaskResumed, Role: RoleOrchestration, Doc: "a blocked or interrupted task continues"},
	{Type: TypeTaskBacklogAdded, Role: RoleOrchestration, Doc: "a task was added to an agent's backlog"},
	{Type: TypeTaskBacklogPicked, Role: RoleOrchestration, Doc: "a task was taken from the backlog"},
	{Type: TypeTaskStopGuardBlocked, Role: RoleOrchestration, Doc: "completion was refused because steps are left"},
	{Type: TypeTaskVerified, Role: RoleOrchestration, Doc: "a delegated result was accepted"},
	{Type: TypeTaskRejected, Role: RoleOrchestration, Doc: "a delegated result was rejected"},
	{Type: TypeTaskRetrying, Role: RoleOrchestration, Doc: "a delegated result is requested again"},
	{Type: TypeBacklogAutoPicked, Role: RoleOrchestration, Doc: "an idle agent was given a task from its backlog"},
	{Type: TypeContinuationSent, Role: RoleOrchestration, Doc: "an idle agent was prompted to continue"},
	{Type: TypeContinuationBackoff, Role: RoleOrchestration, Doc: "prompts pause after a failure"},
	{Type: TypeContinuationComplete, Role: RoleOrchestration, Doc: "nothing is left to continue"},
	{Type: TypeContinuationCompleted, Role: RoleOrchestration, Doc: "nothing is left to continue"},
	{Type: TypeUnblockRequested, Role: RoleOrchestration, Doc: "an agent was asked to unblock a task"},
	{Type: TypeUnblockFailed, Role: RoleOrchestration, Doc: "a request to unblock a task was not delivered, or no agent is asked any more"},
	{Type: TypeResumeReminderSent, Role: RoleOrchestration, Doc: "a blocked agent was asked whether it can continue"},
	{Type: TypeZombieAbandoned, Role: RoleOrchestration, Doc: "a task without progress was returned to the backlog or escalated"},
	{Type: TypePlanSubmitted, Role: RoleOrchestration, Doc: "a plan waits for approval"},
	{Type: TypePlanApproved, Role: RoleOrchestration, Doc: "a plan was approved"},
	{Type: TypePlanRejected, Role: RoleOrchestration, Doc: "a plan was rejected"},
	{Type: TypeMilestoneSynced, Role: RoleObservability, Doc: "a milestone item was updated from its task"},
	{Type: TypeMilestoneSyncFailed, Role: RoleObservability, Doc: "a milestone item could not be updated from its task"},
	{Type: TypeSessionCreated, Role: RoleObservability, Doc: "a session exists"},
	{Type: TypeSessionPatched, Role: RoleObservability, Doc: "settings of a session changed"},
	{Type: TypeSessionMessage, Role: RoleObservability, Doc: "a message was accepted for a session, or written by its agent"},
	{Type: TypeSessionReset, Role: RoleObservability, Doc: "a session was reset"},
	{Type: TypeSessionDeleted, Role: RoleObservability, Doc: "a session was deleted"},
	{Type: TypeRunQueued, Role: RoleObservability, Doc: "a run waits for its lane"},
	{Type: TypeRunStarted, Role: RoleObservability, Doc: "a run has its lane and starts"},
	{Type: TypeRunParked, Role: RoleObservability, Doc: "a run waits for a decision of a person, or for a worker, without its lane"},
	{Type: TypeRunWoken, Role: RoleObservability, Doc: "a run that waited for a decision may go on"},
	{Type: TypeRunEnded, Role: RoleObservability, Doc: "a run ended with a result"},
	{Type: TypeRunFailed, Role: RoleObservability, Doc: "a run ended with an error"},
	{Type: TypeRunAborted, Role: RoleObservability, Doc: "a run was stopped, or interrupted by a restart"},
	{Type: TypeRunTimedOut, Role: RoleObservability, Doc: "a run exceeded its timeout"},
	{Type: TypeToolCalled, Role: RoleObservability, Doc: "a tool with an effect outside of openclawd is about to be called"},
	{Type: TypeToolEnded, Role: RoleObservability, Doc: "the call ended, with a result or an error"},
	{Type: TypeToolOutcomeUnknown, Role: RoleObservability, Doc: "it is unknown whether the call had its effect"},
	{Type: TypeToolOutput, Role: RoleObservability, Doc: "a command wrote something, or ended"},
	{Type: TypeToolApprovalRequested, Role: RoleOrchestration, Doc: "a call of a tool waits for a decision of a person"},
	{Type: TypeToolApprovalDecided, Role: RoleOrchestration, Doc: "it was decided whether the call may be made"},
	{Type: TypeToolApprovalRevoked, Role: RoleOrchestration, Doc: "a permission that outlasts its call was taken back"},
	{Type: TypeSandboxProbed, Role: RoleObservability, Doc: "a probe tried to get out of the sandbox of an agent's commands"},
	{Type: TypeCronJobAdded, Role: RoleObservability, Doc: "a job was added, with its first due time"},
	{Type: TypeCronJobUpdated, Role: RoleObservability, Doc: "a job was changed, with its next due time"},
	{Type: TypeCronJobRemoved, Role: RoleObservability, Doc: "a job was removed"},
	{Type: TypeCronRunDue, Role: RoleObservability, Doc: "a job is due and its run begins; exactly one per due time"},
	{Type: TypeCronRunMissed, Role: RoleObservability, Doc: "due times of a job passed without a run"},
	{Type: TypeCronRunStarted, Role: RoleObservability, Doc: "the agent's run for a job is queued"},
	{Type: TypeCronRunFinished, Role: RoleObservability, Doc: "a run of a job is over, with what it cost; exactly one per run"},
	{Type: TypeCronRunDelivered, Role: RoleObservability, Doc: "what became of the post of a job's answer"},
	{Type: TypeWorkScheduled, Role: RoleObservability, Doc: "work was scheduled, not before a time"},
	{Type: TypeWorkLeased, Role: RoleObservability, Doc: "a worker starts an attempt"},
	{Type: TypeWorkReleased, Role: RoleObservability, Doc: "an attempt failed and will be repeated"},
	{Type: TypeWorkLeaseExpired, Role: RoleObservability, Doc: "the worker stopped, or exceeded its lease"},
	{Type: TypeWorkCompleted, Role: RoleObservability, Doc: "the work is done"},
	{Type: TypeWorkCancelled, Role: RoleObservability, Doc: "the work is no longer needed"},
	{Type: TypeWorkDead, Role: RoleObservability, Doc: "the work was given up until it is resent"},
	{Type: TypeWorkResent, Role: RoleObservability, Doc: "work that was given up was resent"},
	{Type: TypeDiscordInboundHandled, Role: RoleObservability, Doc: "an agent handles a message"},
	{Type: TypeDiscordInboundObserved, Role: RoleObservability, Doc: "an agent remembers a message without answering"},
	{Type: TypeDiscordInboundDropped, Role: RoleObservability, Doc: "a message is for no agent, with the reason"},
	{Type: TypeDiscordSent, Role: RoleObservability, Doc: "a message was posted"},
	{Type: TypeDiscordSendFailed, Role: RoleObservability, Doc: "a message could not be posted"},
	{Type: TypeDiscordDeliveryUnknown, Role: RoleObservability, Doc: "it is unknown whether a message was posted"},
	{Type: TypeIdentityBotRegistered, Role: RoleObservability, Doc: "a bot speaks for an agent"},
	{Type: TypeIdentityBotUnregistered, Role: RoleObservability, Doc: "a bot no longer speaks for an agent"},
	{Type: TypeDiscordInboundEdited, Role: RoleObservability, Doc: "a message that agents know was edited by its author"},
	{Type: TypeDiscordInboundDeleted, Role: RoleObservability, Doc: "a message that agents know was deleted"},
	{Type: TypeDiscordReaction, Role: RoleObservability, Doc: "a person reacted to a post of an agent, or took that back"},
	{Type: TypePairingRequested, Role: RoleObservability, Doc: "an unknown person wrote to a bot and was given a code"},
	{Type: TypePairingApproved, Role: RoleObservability, Doc: "an operator allowed a person to write to agents"},
	{Type: TypePairingRevoked, Role: RoleObservability, Doc: "an operator took back that permission, or a request for it"},
	{Type: TypePairingRefused, Role: RoleObservability, Doc: "an operator gave a code that no pending request has"},
	{Type: TypeThreadCreated, Role: RoleObservability, Doc: "a thread was opened, or taken over from the cache"},
	{Type: TypeThreadParticipantRegistered, Role: RoleObservability, Doc: "an agent participates in a thread"},
	{Type: TypeThreadParticipantExpired, Role: RoleObservability, Doc: "an agent no longer participates in a thread"},
	{Type: TypeThreadSuspended, Role: RoleObservability, Doc: "messages of bots in a thread exceeded the limit and are held"},
	{Type: TypeThreadReleased, Role: RoleObservability, Doc: "the suspension of a thread ended"},
	{Type: TypeSinkAdvanced, Role: RoleObservability, Doc: "people were notified, or will be, of events up to a position in the log"},
	{Type: TypeConfigApplied, Role: RoleObservability, Doc: "a configuration took effect"},
	{Type: TypeConfigPatched, Role: RoleObservability, Doc: "a gateway client changed the configuration file"},
	{Type: TypeLogRedacted, Role: RoleObservability, Doc: "payloads were blanked forever; data derived from them is being cleaned"},
	{Type: TypeLogForgotten, Role: RoleObservability, Doc: "all data derived from redacted payloads is clean"},
	{Type: TypeLogArchived, Role: RoleObservability, Doc: "payloads of old events moved into an archive"},
	{Type: TypeImportRejected, Role: RoleObservability, Doc: "a line of an imported log could not be read"},
	{Type: TypeImportCompleted, Role: RoleObservability, Doc: "a file was imported completely"},
	{Type: TypeImportMigrating, Role: RoleObservability, Doc: "a migration from another program adds events"},
	{Type: TypeImportMigrated, Role: RoleObservability, Doc: "a migration is over, with what was taken over and what was left"},
	{Type: TypeProjectionParked, Role: RoleObservability, Doc: "a projection stopped at an event that it could not apply"},
	{Type: TypeProjectionRebuilt, Role: RoleObservability, Doc: "a projection was rebuilt from the log"},
	{Type: TypeWorkSessionCategorySet, Role: RoleObservability, Doc: "an operator chose a work session's category"},
	{Type: TypeWorkSessionCategoryCleared, Role: RoleObservability, Doc: "an operator cleared that choice"},
	{Type: TypeFileChanged, Role: RoleObservability, Doc: "a watched file of an agent's workspace changed"},
	{Type: TypeFileImported, Role: RoleObservability, Doc: "a task file older than the log was imported"},
	{Type: TypeFileWritten, Role: RoleObservability, Doc: "a task file is about to be written or removed"},
	{Type: TypeFileConflict, Role: RoleObservability, Doc: "a task file was edited outside of openclawd: that version was kept, and the file is rewritten"},
	{Type: TypeGatewayStarted, Role: RoleObservability, Doc: "the gateway accepts clients"},
	{Type: TypeGatewayStopped, Role: RoleObservability, Doc: "the gateway is shutting down"},
	{Type: TypeGatewayHeartbeat, Role: RoleObservability, Doc: "the gateway is alive"},
}
