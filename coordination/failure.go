package coordination

import (
	"cmp"
	"strings"
)

// Failure reports whether an event says that something went wrong, and what, as far as the event has words for it; they are not masked.
// What a person stopped or refused on purpose is no failure, nor is an attempt for which a retry was announced.
// Unknown types are failures if their names end in failed.
func Failure(r *Record) (why string, is bool) {
	judge := failureRule(r.Type)
	if judge == nil {
		return "", false
	}
	return judge(r)
}

// failure decides whether an event of some type is a failure, and why, in a few words.
type failure func(*Record) (why string, is bool)

func failureRule(typ string) failure {
	switch typ {
	case TypeA2AResponse, TypeA2AComplete, TypeA2ASpawnResult:
		return unanswered
	case TypeRunAborted:
		return interrupted
	case TypeWorkReleased:
		return failedAttempt
	case TypeA2AForbidden, TypeA2ADispatchFailed, TypeA2ASendPolicyRejected, TypeA2AConcurrencyTimeout,
		TypeA2AJobFailed, TypeA2AJobAbandoned, TypeA2ACollaborateFailed, TypeCollabRateLimited,
		TypeCollabEscalated, TypeDelegationFailed, TypeDelegationAbandoned, TypeContinuationBackoff,
		TypeUnblockFailed, TypeZombieAbandoned, TypeMilestoneSyncFailed, TypeRunFailed,
		TypeRunTimedOut, TypeWorkDead, TypeWorkLeaseExpired, TypeDiscordSendFailed,
		TypeDiscordDeliveryUnknown, TypeThreadSuspended, TypeImportRejected, TypeProjectionParked,
		TypeFileConflict, TypeToolOutcomeUnknown:
		return alwaysFails
	}
	if strings.HasSuffix(typ, "failed") {
		return alwaysFails
	}
	return nil
}

// unanswered holds the answers and outcomes of exchanges that mean that there was no answer.
func unanswered(r *Record) (string, bool) {
	step := ThreadStep(r)
	return failureText(string(step.Outcome), step.Reason), step.Outcome == OutcomeBlocked || step.Outcome == OutcomeNoReply
}

// interrupted reports runs whose process was gone; every other stop was on purpose.
func interrupted(r *Record) (string, bool) {
	return failureText(r.Reason, r.Error), r.Reason == "restart"
}

// failedAttempt reports work that was given back because of an error.
func failedAttempt(r *Record) (string, bool) { return r.Error, r.Error != "" }

func alwaysFails(r *Record) (string, bool) {
	return failureText(cmp.Or(r.Outcome, r.Reason), cmp.Or(r.Error, r.WaitError)), true
}

func failureText(what, why string) string {
	switch {
	case what == "" || what == why:
		return why
	case why == "":
		return what
	}
	return what + ": " + why
}
