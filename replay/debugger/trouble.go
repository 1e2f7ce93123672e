package debugger

import (
	"cmp"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// rule decides whether an event of some type is an error, and why, in a few words.
type rule func(*coordination.Record) (why string, is bool)

// Trouble reports whether an event says that something went wrong, and what, as far as the event has words for it.
// What a person stopped or refused on purpose is no error, nor is an attempt for which a retry was announced.
// Unknown types are errors if their names end in failed.
func Trouble(e *eventstore.Event) (why string, is bool) {
	judge := ruleOf(e.Type)
	if judge == nil {
		return "", false
	}
	record := projections.Record(coordination.RulesV2, e)
	if why, is = judge(&record); !is {
		return "", false
	}
	return coordination.Mask(why), true
}

func ruleOf(typ string) rule {
	switch typ {
	case coordination.TypeA2AResponse, coordination.TypeA2AComplete, coordination.TypeA2ASpawnResult:
		return unanswered
	case coordination.TypeRunAborted:
		return interrupted
	case coordination.TypeWorkReleased:
		return failedAttempt
	case coordination.TypeA2AForbidden, coordination.TypeA2ADispatchFailed, coordination.TypeA2ASendPolicyRejected, coordination.TypeA2AConcurrencyTimeout,
		coordination.TypeA2AJobFailed, coordination.TypeA2AJobAbandoned, coordination.TypeA2ACollaborateFailed, coordination.TypeCollabRateLimited,
		coordination.TypeCollabEscalated, coordination.TypeDelegationFailed, coordination.TypeDelegationAbandoned, coordination.TypeContinuationBackoff,
		coordination.TypeUnblockFailed, coordination.TypeZombieAbandoned, coordination.TypeMilestoneSyncFailed, coordination.TypeRunFailed,
		coordination.TypeRunTimedOut, coordination.TypeWorkDead, coordination.TypeWorkLeaseExpired, coordination.TypeDiscordSendFailed,
		coordination.TypeDiscordDeliveryUnknown, coordination.TypeThreadSuspended, coordination.TypeImportRejected, coordination.TypeProjectionParked,
		coordination.TypeFileConflict:
		return always
	}
	if strings.HasSuffix(typ, "failed") {
		return always
	}
	return nil
}

// unanswered holds the answers and outcomes of exchanges that mean that there was no answer.
func unanswered(r *coordination.Record) (string, bool) {
	step := coordination.ThreadStep(r)
	return ruleText(string(step.Outcome), step.Reason), step.Outcome == coordination.OutcomeBlocked || step.Outcome == coordination.OutcomeNoReply
}

// interrupted reports runs whose process was gone; every other stop was on purpose.
func interrupted(r *coordination.Record) (string, bool) {
	return ruleText(r.Reason, r.Error), r.Reason == "restart"
}

// failedAttempt reports work that was given back because of an error.
func failedAttempt(r *coordination.Record) (string, bool) { return r.Error, r.Error != "" }

func always(r *coordination.Record) (string, bool) {
	return ruleText(cmp.Or(r.Outcome, r.Reason), cmp.Or(r.Error, r.WaitError)), true
}

func ruleText(what, why string) string {
	switch {
	case what == "" || what == why:
		return why
	case why == "":
		return what
	}
	return what + ": " + why
}
