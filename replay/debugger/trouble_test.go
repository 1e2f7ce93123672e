package debugger

import (
	"encoding/json"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Each type of event is an error always, never, or depending on its data.
func TestTrouble(t *testing.T) {
	t.Parallel()
	always := map[string]bool{}
	for _, typ := range []string{
		coordination.TypeA2AForbidden, coordination.TypeA2ADispatchFailed, coordination.TypeA2ASendPolicyRejected, coordination.TypeA2AConcurrencyTimeout,
		coordination.TypeA2AJobFailed, coordination.TypeA2AJobAbandoned, coordination.TypeA2ACollaborateFailed, coordination.TypeCollabRateLimited,
		coordination.TypeCollabEscalated, coordination.TypeDelegationFailed, coordination.TypeDelegationAbandoned, coordination.TypeContinuationBackoff,
		coordination.TypeUnblockFailed, coordination.TypeZombieAbandoned, coordination.TypeMilestoneSyncFailed, coordination.TypeRunFailed,
		coordination.TypeRunTimedOut, coordination.TypeWorkDead, coordination.TypeWorkLeaseExpired, coordination.TypeDiscordSendFailed,
		coordination.TypeDiscordDeliveryUnknown, coordination.TypeThreadSuspended, coordination.TypeImportRejected, coordination.TypeProjectionParked,
		coordination.TypeFileConflict, coordination.TypeToolOutcomeUnknown, "somebody_else.has_failed", "somebody_else.failed",
	} {
		always[typ] = true
	}
	types := []string{"somebody_else.failed", "somebody_else.has_failed", "somebody_else.is_well"}
	for _, info := range coordination.Catalogue() {
		types = append(types, info.Type)
	}
	for _, typ := range types {
		if _, is := Trouble(&eventstore.Event{Type: typ, Data: json.RawMessage("{}")}); is != always[typ] {
			t.Errorf("%s without data: error %v, want %v", typ, is, always[typ])
		}
		if _, is := Trouble(&eventstore.Event{Type: typ}); is != always[typ] {
			t.Errorf("%s redacted: error %v, want %v", typ, is, always[typ])
		}
	}
	for _, c := range []struct {
		typ, data string
		is        bool
		why       string
	}{
		{coordination.TypeA2AComplete, `{"outcome":"blocked","waitError":"no such agent"}`, true, "blocked: no such agent"},
		{coordination.TypeA2AComplete, `{"outcome":"no_reply","waitStatus":"timeout"}`, true, "no_reply: 대기 시간 초과"},
		{coordination.TypeA2AComplete, `{"outcome":"failed"}`, true, "blocked"},
		{coordination.TypeA2AComplete, `{"message":"done"}`, false, ""},
		{coordination.TypeA2AResponse, `{"message":"[outcome] blocked: 거절되었습니다"}`, true, "blocked: 거절되었습니다"},
		{coordination.TypeA2AResponse, `{"message":"네"}`, false, ""},
		{coordination.TypeA2ASpawnResult, `{"status":"error","error":"no room"}`, true, "blocked: no room"},
		{coordination.TypeA2ASpawnResult, `{"status":"accepted"}`, false, ""},
		{coordination.TypeRunAborted, `{"reason":"restart"}`, true, "restart"},
		{coordination.TypeRunAborted, `{"reason":"stop"}`, false, ""},
		{coordination.TypeRunFailed, `{"error":"429"}`, true, "429"},
		{coordination.TypeWorkReleased, `{"error":"HTTP 500"}`, true, "HTTP 500"},
		{coordination.TypeWorkDead, `{"error":"HTTP 500","reason":"attempts"}`, true, "attempts: HTTP 500"},
		{coordination.TypeA2ASend, `{"message":"[outcome] blocked: quoted","outcome":"blocked"}`, false, ""},
	} {
		why, is := Trouble(&eventstore.Event{Type: c.typ, Data: json.RawMessage(c.data)})
		if is != c.is || why != c.why {
			t.Errorf("%s %s: error %v %q, want %v %q", c.typ, c.data, is, why, c.is, c.why)
		}
	}
}
