package health

// Code is the stable code of a Reason.
type Code string

// Codes of reasons.
const (
	CodeDatabaseFailing      Code = "database_failing"
	CodeDatabaseLost         Code = "database_lost"
	CodeDatabaseLinked       Code = "database_linked"
	CodeIOError              Code = "io_error"
	CodeDatabaseStalled      Code = "database_stalled"
	CodeDatabaseUnreadable   Code = "database_unreadable"
	CodeDiskLow              Code = "disk_low"
	CodeProjectionParked     Code = "projection_parked"
	CodeProjectionRebuilding Code = "projection_rebuilding"
	CodeImporting            Code = "importing"
	CodeLogUnreadable        Code = "log_unreadable"
	CodeLogBehind            Code = "log_behind"
	CodeMirrorFailing        Code = "mirror_failing"
	CodeTwoProducers         Code = "two_producers"
	CodeConfigInvalid        Code = "config_invalid"
	CodeOverridesDiffer      Code = "overrides_differ"
	CodeSearchBehind         Code = "search_behind"
	CodeSearchFailing        Code = "search_failing"
	CodeBackupFailed         Code = "backup_failed"
	CodeBackupOverdue        Code = "backup_overdue"
	CodeTaskFilesFailing     Code = "task_files_failing"
	CodeTaskFilesEdited      Code = "task_files_edited"
	CodeTaskFilesRefused     Code = "task_files_refused"
	CodeGatewayEnded         Code = "gateway_ended"
	CodeWorkDead             Code = "work_dead"
	CodeWorkStuck            Code = "work_stuck"
	CodeWorkUnknown          Code = "work_unknown"
	CodeWorkerMissing        Code = "worker_missing"
	CodeDiscordBotOffline    Code = "discord_bot_offline"
	CodeDiscordBotLimited    Code = "discord_bot_limited"
	CodeDiscordUndelivered   Code = "discord_undelivered"
	CodeChannelBotOffline    Code = "channel_bot_offline" // as those of Discord, in other channels
	CodeChannelBotLimited    Code = "channel_bot_limited"
	CodeChannelUndelivered   Code = "channel_undelivered"
	CodeRedactionFailing     Code = "redaction_failing"
	CodeChainBroken          Code = "chain_broken"
	CodeChainOverdue         Code = "chain_overdue"
	CodeSharedUnavailable    Code = "shared_unavailable"
	CodeNodeBehind           Code = "node_behind"
	CodeNodeOut              Code = "node_out"
)
