package projections_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// pairingHistory has people who ask to write to agents, and what was decided: one is approved, one was and is no more, one waits.
func pairingHistory(t *testing.T) (appends []eventstore.StreamAppend) {
	t.Helper()
	for i, one := range []struct {
		typ, user, code string
	}{
		{coordination.TypePairingRequested, "42", "ABCD2345"},
		{coordination.TypePairingRequested, "43", "EFGH2345"},
		{coordination.TypePairingRefused, "", ""},
		{coordination.TypePairingApproved, "42", ""},
		{coordination.TypePairingApproved, "43", ""},
		{coordination.TypePairingRevoked, "43", ""},
		{coordination.TypePairingRequested, "44", "JKLM2345"},
	} {
		data := coordination.Pairing{Context: coordination.Context{EventRole: coordination.RoleObservability}, Channel: "telegram", UserID: one.user, By: "kim"}
		if one.code != "" {
			data = coordination.Pairing{Context: data.Context, Channel: "telegram", UserID: one.user, UserName: "병욱", AccountID: "ruda", AgentID: "ruda",
				ChannelID: "telegram:" + one.user + ".7", MessageID: "telegram:" + one.user + ".7:1", Code: one.code, UntilMs: goldenTime.UnixMilli()}
		}
		n := i + 1
		event := eventstore.NewEvent{ID: eventstore.DerivedID(goldenTime.UnixMilli(), [32]byte{7: byte(n), 8: 10}), Type: one.typ, Actor: eventstore.ActorSystem}
		added, err := eventstore.One(coordination.PairingStream("telegram", one.user), event, data, goldenTime.UnixMilli()-3_600_000+int64(n)*1_000)
		if err != nil {
			t.Fatal(err)
		}
		appends = append(appends, added...)
	}
	return appends
}
