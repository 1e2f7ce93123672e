package coordination

// Outcome is the state of a thread, that is a conversation or a child run.
type Outcome string

const (
	OutcomeActive  Outcome = "active"   // answered, and the exchange continues
	OutcomeWaiting Outcome = "waiting"  // a message is unanswered
	OutcomeBlocked Outcome = "blocked"  // not delivered, or failed
	OutcomeNoReply Outcome = "no_reply" // delivered, but not answered
	OutcomeDone    Outcome = "done"
)

// Step is the effect of one event on its thread.
type Step struct {
	Affects bool
	Open    bool // the thread is not finished after this event
	Outcome Outcome
	Reason  string     // readable reason of blocked or no reply; else ""
	Code    ReasonCode // of blocked or no reply; else ""

	// Settles says that the thread is no longer awaited: blocked or without reply becomes done, without a reason; all else stays,
	// including whether it is open. Such a step has no other effect.
	Settles bool
}

// ThreadStep returns the effect of an event on its thread; events are folded by time, then seq.
//
//	a2a.send, a2a.spawn, a2a.spawn_result accepted   open, waiting
//	a2a.response                                     open; active, or blocked or no_reply when it says so
//	a2a.complete                                     closed; done, blocked or no_reply when it says so
//	a2a.spawn_result error, killed                   closed, blocked
//	delegation.retrying                              settled: another attempt replaces the failed one
//
// A stopped or abandoned exchange is blocked; one that timed out got no reply. A plain completion also follows a blocked or unanswered
// response, so a caller keeps the earlier blocked or no_reply when OutcomeDone comes directly after it.
func ThreadStep(r *Record) Step {
	switch r.Type {
	case TypeA2ASend, TypeA2ASpawn:
		return Step{Affects: true, Open: true, Outcome: OutcomeWaiting}
	case TypeA2ASpawnResult:
		if r.Facts.Status == SpawnError || r.Facts.Status == SpawnKilled {
			return Step{Affects: true, Outcome: OutcomeBlocked, Reason: r.failureReason(), Code: r.whyFailed()}
		}
		return Step{Affects: true, Open: true, Outcome: OutcomeWaiting}
	case TypeA2AResponse:
		if outcome := r.failure(); outcome != "" {
			return Step{Affects: true, Open: true, Outcome: outcome, Reason: r.failureReason(), Code: r.whyFailed()}
		}
		return Step{Affects: true, Open: true, Outcome: OutcomeActive}
	case TypeA2AComplete:
		if outcome := r.failure(); outcome != "" {
			return Step{Affects: true, Outcome: outcome, Reason: r.failureReason(), Code: r.whyFailed()}
		}
		return Step{Affects: true, Outcome: OutcomeDone}
	case TypeDelegationRetrying:
		return Step{Settles: true}
	}
	return Step{}
}

// failure returns blocked or no_reply if the event's outcome or text says that the exchange failed.
func (r *Record) failure() Outcome {
	switch r.Facts.Outcome {
	case OutcomeValueBlocked, OutcomeValueFailed, OutcomeValueAbandoned, OutcomeValueCancelled, OutcomeValueKilled:
		return OutcomeBlocked
	case OutcomeValueNoReply, OutcomeValueTimeout:
		return OutcomeNoReply
	}
	if r.ConcurrencyBlocked {
		return OutcomeBlocked
	}
	outcome, _, _ := cutOutcome(firstText(r.Message, r.ReplyPreview))
	if outcome == OutcomeDone {
		return ""
	}
	return outcome
}

func (r *Record) failureReason() string {
	if r.ConcurrencyBlocked && r.WaitError == "" && r.Error == "" {
		return reasonBusy
	}
	if reason := firstText(r.WaitError, r.Error); reason != "" && !r.contradicts(reason) {
		return Mask(reason)
	}
	outcome, rest, _ := cutOutcome(firstText(r.Message, r.ReplyPreview))
	if outcome != "" {
		if reason := outcomeReason(rest); reason != "" && !r.contradicts(reason) {
			return Mask(reason)
		}
	}
	if sentence := waitReasons[r.WaitStatus]; sentence != "" {
		return sentence
	}
	return Mask(r.Reason)
}

// contradicts reports whether a text gives another reason than the event's waitStatus, if that alone decides its code. The reference
// system keeps the error of an earlier attempt beside the timeout of a later one.
func (r *Record) contradicts(text string) bool {
	why := reasonOfCode(r.WaitStatus)
	if why == "" || r.ConcurrencyBlocked || reasonOfClass(r.ErrorClass) != "" || reasonOfCode(r.ErrorCode) != "" {
		return false
	}
	switch said := ReasonInText(text); said {
	case why, ReasonOther, ReasonRunFailed:
		return false
	case ReasonModelUnavailable:
		return why != ReasonWaitTimeout // both are timeouts in many texts
	default:
		return true
	}
}

// reasonBusy is the failureReason of a target at its concurrency limit.
const reasonBusy = "동시 처리 한도 초과"

// waitReasons are the failureReasons of codes without a text.
var waitReasons = map[string]string{
	"timeout":         "대기 시간 초과",
	"queue_timeout":   "동시 처리 대기 시간 초과",
	"error":           "실행 오류",
	"not_found":       "실행 상태를 찾을 수 없음",
	"empty":           "빈 응답",
	"aborted":         "실행 중단",
	"dispatch_failed": "전달 실패",
	"cancelled":       "취소됨",
	"killed":          "중지됨",
	"abandoned":       "포기됨",
}
