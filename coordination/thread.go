package coordination

// Outcome is how a thread, one conversation or one child run, stands.
type Outcome string

const (
	OutcomeActive  Outcome = "active"   // somebody spoke last and the exchange goes on
	OutcomeWaiting Outcome = "waiting"  // a message is out, nobody has answered
	OutcomeBlocked Outcome = "blocked"  // not delivered, or failed
	OutcomeNoReply Outcome = "no_reply" // delivered, nobody answered
	OutcomeDone    Outcome = "done"
)

// Step is what one event does to its thread.
type Step struct {
	Affects bool
	Open    bool // the thread is not finished after this event
	Outcome Outcome
	Reason  string // why it is blocked or without reply, readable; else ""

	// Settles says that nobody waits for the thread any more: where it is blocked or without reply it is done, for no reason. Everything else
	// stays as it is, also whether it is open. Such a step does not affect it otherwise.
	Settles bool
}

// ThreadStep says what an event does to its thread; events are folded by time, then seq.
//
//	a2a.send, a2a.spawn, a2a.spawn_result accepted   open, waiting
//	a2a.response                                     open; active, or blocked or no_reply when it says so
//	a2a.complete                                     closed; done, blocked or no_reply when it says so
//	a2a.spawn_result error, killed                   closed, blocked
//	delegation.retrying                              settled: another attempt takes the place of what failed
//
// An exchange that somebody has stopped, or given up, is blocked; one that took too long got no reply.
// A plain completion follows a blocked or unanswered response too, so a caller keeps the earlier blocked or no_reply
// when OutcomeDone comes directly after it.
func ThreadStep(r *Record) Step {
	switch r.Type {
	case TypeA2ASend, TypeA2ASpawn:
		return Step{Affects: true, Open: true, Outcome: OutcomeWaiting}
	case TypeA2ASpawnResult:
		if r.Facts.Status == SpawnError || r.Facts.Status == SpawnKilled {
			return Step{Affects: true, Outcome: OutcomeBlocked, Reason: r.failureReason()}
		}
		return Step{Affects: true, Open: true, Outcome: OutcomeWaiting}
	case TypeA2AResponse:
		if outcome := r.failure(); outcome != "" {
			return Step{Affects: true, Open: true, Outcome: outcome, Reason: r.failureReason()}
		}
		return Step{Affects: true, Open: true, Outcome: OutcomeActive}
	case TypeA2AComplete:
		if outcome := r.failure(); outcome != "" {
			return Step{Affects: true, Outcome: outcome, Reason: r.failureReason()}
		}
		return Step{Affects: true, Outcome: OutcomeDone}
	case TypeDelegationRetrying:
		return Step{Settles: true}
	}
	return Step{}
}

// failure is blocked or no_reply if the event says that the exchange failed, by its outcome or by its text.
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
	if reason := firstText(r.WaitError, r.Error); reason != "" {
		return Mask(reason)
	}
	outcome, rest, _ := cutOutcome(firstText(r.Message, r.ReplyPreview))
	if outcome != "" {
		if reason := outcomeReason(rest); reason != "" {
			return Mask(reason)
		}
	}
	if sentence := waitReasons[r.WaitStatus]; sentence != "" {
		return sentence
	}
	return Mask(r.Reason)
}

// reasonBusy is what failureReason says of a target that has too much to do.
const reasonBusy = "동시 처리 한도 초과"

// waitReasons are what failureReason says where the event has a code and no words of its own.
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
