package step

import (
	"cmp"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// rule says what of an event of some type is an error: why, in a few words, and whether it is one.
type rule func(*coordination.Record) (why string, is bool)

// Trouble says whether an event tells that something went wrong, and what, as far as the event has words for it. That somebody has stopped or refused
// something on purpose is none, nor is an attempt that was announced as a repetition. Types that nobody knows are errors where their names end in failed.
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
		return brokenOff
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

// unanswered are answers and ends of exchanges that say that there was none.
func unanswered(r *coordination.Record) (string, bool) {
	step := coordination.ThreadStep(r)
	return said(string(step.Outcome), step.Reason), step.Outcome == coordination.OutcomeBlocked || step.Outcome == coordination.OutcomeNoReply
}

// brokenOff are runs whose process was gone; every other one was stopped on purpose.
func brokenOff(r *coordination.Record) (string, bool) {
	return said(r.Reason, r.Error), r.Reason == "restart"
}

// failedAttempt is work that was given back because of an error.
func failedAttempt(r *coordination.Record) (string, bool) { return r.Error, r.Error != "" }

func always(r *coordination.Record) (string, bool) {
	return said(cmp.Or(r.Outcome, r.Reason), cmp.Or(r.Error, r.WaitError)), true
}

func said(what, why string) string {
	switch {
	case what == "" || what == why:
		return why
	case why == "":
		return what
	}
	return what + ": " + why
}
