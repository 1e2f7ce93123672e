package coordination

// Agents exchanging messages.
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

// Subagents.
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

// What keeps the system able to continue after a restart.
const (
	TypeSessionCreated = "session.created"
	TypeSessionPatched = "session.patched"
	TypeSessionMessage = "session.message"
	TypeSessionReset   = "session.reset"
	TypeSessionDeleted = "session.deleted"
	TypeRunQueued      = "run.queued"
	TypeRunStarted     = "run.started"
	TypeRunEnded       = "run.ended"
	TypeRunFailed      = "run.failed"
	TypeRunAborted     = "run.aborted"
	TypeRunTimedOut    = "run.timed_out"
)

// What has still to be done outside. See package coordination/work.
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
	TypeThreadCreated               = "thread.created"
	TypeThreadParticipantRegistered = "thread.participant.registered"
	TypeThreadParticipantExpired    = "thread.participant.expired"
	TypeThreadSuspended             = "thread.suspended"
	TypeThreadReleased              = "thread.released"
)

// Telling people what they have asked to be told of. See package tools/notify.
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
	// Role is what producers claim. For conversation.main types it is the usual one: between other than main sessions
	// they are delegation.
	Role     Role
	Internal bool   // see Internal
	Doc      string // what has happened when the event is there
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

// internalFamilies are facts that the system needs for itself.
var internalFamilies = [...]string{
	"session.", "run.", "discord.", "thread.", "identity.", "config.", "import.", "projection.", "work_session.", "file.",
	"work.", "sink.", "log.",
}

// Internal says whether events of a type, known or not, are the system's own book-keeping: produced here, they stay out
// of the Task-Monitor's answers unless those are asked for with scope=all.
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
	{Type: TypeA2AResponse, Role: RoleConversation, Doc: "an answer, one per ping-pong turn; data.outcome blocked or no_reply when there is none"},
	{Type: TypeA2AComplete, Role: RoleConversation, Doc: "the exchange is over; exactly one per exchange"},
	{Type: TypeA2AAutoRoute, Role: RoleConversation, Doc: "a mention in a Discord channel was routed as an exchange"},
	{Type: TypeA2ARetry, Role: RoleObservability, Doc: "an attempt of an exchange is repeated after a back-off"},
	{Type: TypeA2AForbidden, Role: RoleObservability, Doc: "policy refused a message"},
	{Type: TypeA2ADispatchFailed, Role: RoleObservability, Doc: "a message could not be handed to its target"},
	{Type: TypeA2ASendInitiated, Role: RoleObservability, Doc: "the coordinator took a message on"},
	{Type: TypeA2ASendPolicyRejected, Role: RoleObservability, Doc: "the coordinator refused a message by policy"},
	{Type: TypeA2ASendCompleted, Role: RoleObservability, Doc: "the coordinator is done with a message"},
	{Type: TypeA2AConcurrencyThrottle, Role: RoleObservability, Doc: "a flow waits for its target's concurrency permit"},
	{Type: TypeA2AConcurrencyTimeout, Role: RoleObservability, Doc: "no concurrency permit came in time"},
	{Type: TypeA2AJobCreated, Role: RoleOrchestration, Doc: "a job is stored, before anything is dispatched"},
	{Type: TypeA2AJobRunning, Role: RoleOrchestration, Doc: "a job entered a phase"},
	{Type: TypeA2AJobCompleted, Role: RoleOrchestration, Doc: "a job ended as meant"},
	{Type: TypeA2AJobFailed, Role: RoleOrchestration, Doc: "a job ended with an error"},
	{Type: TypeA2AJobAbandoned, Role: RoleOrchestration, Doc: "a job was given up: too old or resumed too often"},
	{Type: TypeA2AJobResumed, Role: RoleOrchestration, Doc: "a job goes on after a restart"},
	{Type: TypeA2AJobCancelled, Role: RoleOrchestration, Doc: "somebody has stopped a job"},
	{Type: TypeA2ACollaborateRequested, Role: RoleOrchestration, Doc: "an agent asks another for help in a thread"},
	{Type: TypeA2ACollaborateSent, Role: RoleOrchestration, Doc: "the request stands in the thread"},
	{Type: TypeA2ACollaborateFailed, Role: RoleOrchestration, Doc: "the request could not be posted"},
	{Type: TypeA2ACollaborateResponded, Role: RoleOrchestration, Doc: "the target answered in the thread"},
	{Type: TypeCollabMessage, Role: RoleConversation, Doc: "something was said in a thread in which agents ask each other"},
	{Type: TypeCollabRateLimited, Role: RoleOrchestration, Doc: "a pair of agents asked each other too often"},
	{Type: TypeCollabReminded, Role: RoleOrchestration, Doc: "an unanswered request was repeated"},
	{Type: TypeCollabEscalated, Role: RoleOrchestration, Doc: "an unanswered request was given to a human"},
	{Type: TypeA2ASpawn, Role: RoleDelegation, Doc: "an agent starts a subagent"},
	{Type: TypeA2ASpawnResult, Role: RoleDelegation, Doc: "the start was accepted or failed"},
	{Type: TypeDelegationSpawned, Role: RoleDelegation, Doc: "a task's delegation exists"},
	{Type: TypeDelegationRunning, Role: RoleDelegation, Doc: "the delegate works"},
	{Type: TypeDelegationCompleted, Role: RoleDelegation, Doc: "the delegate says it is done"},
	{Type: TypeDelegationFailed, Role: RoleDelegation, Doc: "the delegate failed"},
	{Type: TypeDelegationVerified, Role: RoleDelegation, Doc: "the result was accepted"},
	{Type: TypeDelegationRejected, Role: RoleDelegation, Doc: "the result was refused"},
	{Type: TypeDelegationRetrying, Role: RoleDelegation, Doc: "the delegation is tried again"},
	{Type: TypeDelegationAbandoned, Role: RoleDelegation, Doc: "the delegation was given up"},
	{Type: TypeTaskStarted, Role: RoleOrchestration, Doc: "an agent starts a task, or asks for approval to"},
	{Type: TypeTaskUpdated, Role: RoleOrchestration, Doc: "progress, or a changed step"},
	{Type: TypeTaskCompleted, Role: RoleOrchestration, Doc: "a task is done"},
	{Type: TypeTaskForceCompleted, Role: RoleOrchestration, Doc: "a task was ended with steps left"},
	{Type: TypeTaskCancelled, Role: RoleOrchestration, Doc: "a task was called off"},
	{Type: TypeTaskApproved, Role: RoleOrchestration, Doc: "a task may start"},
	{Type: TypeTaskBlocked, Role: RoleOrchestration, Doc: "a task waits for somebody"},
	{Type: TypeTaskResumed, Role: RoleOrchestration, Doc: "a blocked or interrupted task goes on"},
	{Type: TypeTaskBacklogAdded, Role: RoleOrchestration, Doc: "a task waits in somebody's backlog"},
	{Type: TypeTaskBacklogPicked, Role: RoleOrchestration, Doc: "a task was taken from the backlog"},
	{Type: TypeTaskStopGuardBlocked, Role: RoleOrchestration, Doc: "completion was refused: steps are left"},
	{Type: TypeTaskVerified, Role: RoleOrchestration, Doc: "a delegated result was accepted"},
	{Type: TypeTaskRejected, Role: RoleOrchestration, Doc: "a delegated result was refused"},
	{Type: TypeTaskRetrying, Role: RoleOrchestration, Doc: "a delegated result is asked for again"},
	{Type: TypeBacklogAutoPicked, Role: RoleOrchestration, Doc: "an idle agent was given a task from its backlog"},
	{Type: TypeContinuationSent, Role: RoleOrchestration, Doc: "an idle agent was told to go on"},
	{Type: TypeContinuationBackoff, Role: RoleOrchestration, Doc: "prompts pause after a failure"},
	{Type: TypeContinuationComplete, Role: RoleOrchestration, Doc: "nothing is left to continue"},
	{Type: TypeContinuationCompleted, Role: RoleOrchestration, Doc: "nothing is left to continue"},
	{Type: TypeUnblockRequested, Role: RoleOrchestration, Doc: "somebody was asked to unblock a task"},
	{Type: TypeUnblockFailed, Role: RoleOrchestration, Doc: "a request to unblock a task has not arrived, or nobody is asked any more"},
	{Type: TypeResumeReminderSent, Role: RoleOrchestration, Doc: "a blocked agent was asked whether it can go on"},
	{Type: TypeZombieAbandoned, Role: RoleOrchestration, Doc: "a task that nobody touched was taken away"},
	{Type: TypePlanSubmitted, Role: RoleOrchestration, Doc: "a plan waits for approval"},
	{Type: TypePlanApproved, Role: RoleOrchestration, Doc: "a plan was approved"},
	{Type: TypePlanRejected, Role: RoleOrchestration, Doc: "a plan was refused"},
	{Type: TypeMilestoneSynced, Role: RoleObservability, Doc: "a milestone item follows its task"},
	{Type: TypeMilestoneSyncFailed, Role: RoleObservability, Doc: "a milestone item could not follow its task"},
	{Type: TypeSessionCreated, Role: RoleObservability, Doc: "a session exists"},
	{Type: TypeSessionPatched, Role: RoleObservability, Doc: "what is set for a session changed"},
	{Type: TypeSessionMessage, Role: RoleObservability, Doc: "a message was accepted for a session, or written by its agent"},
	{Type: TypeSessionReset, Role: RoleObservability, Doc: "a session starts over"},
	{Type: TypeSessionDeleted, Role: RoleObservability, Doc: "a session is gone"},
	{Type: TypeRunQueued, Role: RoleObservability, Doc: "a run waits for its lane"},
	{Type: TypeRunStarted, Role: RoleObservability, Doc: "a run has its lane and begins"},
	{Type: TypeRunEnded, Role: RoleObservability, Doc: "a run ended with a result"},
	{Type: TypeRunFailed, Role: RoleObservability, Doc: "a run ended with an error"},
	{Type: TypeRunAborted, Role: RoleObservability, Doc: "a run was stopped, or orphaned by a restart"},
	{Type: TypeRunTimedOut, Role: RoleObservability, Doc: "a run took longer than it may"},
	{Type: TypeWorkScheduled, Role: RoleObservability, Doc: "something has to be done outside, not before a time"},
	{Type: TypeWorkLeased, Role: RoleObservability, Doc: "a worker begins to do it"},
	{Type: TypeWorkReleased, Role: RoleObservability, Doc: "an attempt at it failed, and there will be another one"},
	{Type: TypeWorkLeaseExpired, Role: RoleObservability, Doc: "its worker is gone, or took too long"},
	{Type: TypeWorkCompleted, Role: RoleObservability, Doc: "it is done"},
	{Type: TypeWorkCancelled, Role: RoleObservability, Doc: "it need not be done any more"},
	{Type: TypeWorkDead, Role: RoleObservability, Doc: "no further attempt is made until somebody asks for one"},
	{Type: TypeWorkResent, Role: RoleObservability, Doc: "somebody asked for another attempt at what was given up"},
	{Type: TypeDiscordInboundHandled, Role: RoleObservability, Doc: "an agent handles a message"},
	{Type: TypeDiscordInboundObserved, Role: RoleObservability, Doc: "an agent remembers a message and stays silent"},
	{Type: TypeDiscordInboundDropped, Role: RoleObservability, Doc: "a message is not for any agent, with the reason"},
	{Type: TypeDiscordSent, Role: RoleObservability, Doc: "a message was posted"},
	{Type: TypeDiscordSendFailed, Role: RoleObservability, Doc: "a message could not be posted"},
	{Type: TypeDiscordDeliveryUnknown, Role: RoleObservability, Doc: "nobody can tell whether a message was posted"},
	{Type: TypeIdentityBotRegistered, Role: RoleObservability, Doc: "a bot speaks for an agent"},
	{Type: TypeIdentityBotUnregistered, Role: RoleObservability, Doc: "a bot no longer speaks for an agent"},
	{Type: TypeThreadCreated, Role: RoleObservability, Doc: "a thread was opened, or taken over from the cache"},
	{Type: TypeThreadParticipantRegistered, Role: RoleObservability, Doc: "an agent takes part in a thread"},
	{Type: TypeThreadParticipantExpired, Role: RoleObservability, Doc: "an agent no longer takes part in a thread"},
	{Type: TypeThreadSuspended, Role: RoleObservability, Doc: "bots talked too much in a thread and are held"},
	{Type: TypeThreadReleased, Role: RoleObservability, Doc: "a suspended thread goes on"},
	{Type: TypeSinkAdvanced, Role: RoleObservability, Doc: "people were told of what has happened up to a place in the log, or are going to be"},
	{Type: TypeConfigApplied, Role: RoleObservability, Doc: "this configuration is in use from here on"},
	{Type: TypeConfigPatched, Role: RoleObservability, Doc: "a client of the gateway changed the configuration's file"},
	{Type: TypeLogRedacted, Role: RoleObservability, Doc: "payloads of events were blanked for ever; what was made of them is being mended"},
	{Type: TypeLogForgotten, Role: RoleObservability, Doc: "everything made of payloads that were redacted has forgotten them"},
	{Type: TypeLogArchived, Role: RoleObservability, Doc: "payloads of old events moved into an archive"},
	{Type: TypeImportRejected, Role: RoleObservability, Doc: "a line of an imported log could not be read"},
	{Type: TypeImportCompleted, Role: RoleObservability, Doc: "a file was imported to its end"},
	{Type: TypeProjectionParked, Role: RoleObservability, Doc: "a read model stopped at an event that it could not apply"},
	{Type: TypeProjectionRebuilt, Role: RoleObservability, Doc: "a read model was rebuilt from the log"},
	{Type: TypeWorkSessionCategorySet, Role: RoleObservability, Doc: "an operator chose a work session's category"},
	{Type: TypeWorkSessionCategoryCleared, Role: RoleObservability, Doc: "an operator took that choice back"},
	{Type: TypeFileChanged, Role: RoleObservability, Doc: "a watched file of an agent's workspace changed"},
	{Type: TypeFileImported, Role: RoleObservability, Doc: "a file of tasks that was there before the log knew of it was taken over"},
	{Type: TypeFileWritten, Role: RoleObservability, Doc: "a file of tasks is about to be written, or removed, because of what the log says"},
	{Type: TypeFileConflict, Role: RoleObservability, Doc: "a file of tasks was edited by somebody else: that was kept aside, and the file is written again"},
	{Type: TypeGatewayStarted, Role: RoleObservability, Doc: "the gateway accepts clients"},
	{Type: TypeGatewayStopped, Role: RoleObservability, Doc: "the gateway is shutting down"},
	{Type: TypeGatewayHeartbeat, Role: RoleObservability, Doc: "the gateway is alive"},
}
