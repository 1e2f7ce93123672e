package pairing_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/pairing"
)

// ask folds the request of a person into the situation, if a code is given.
func ask(t *testing.T, s *pairing.Situation, userID string, random io.Reader) *coordination.Pairing {
	t.Helper()
	asked, err := s.Ask(&pairing.Person{UserID: userID, UserName: "a name", AccountID: "acc", ChannelID: "1"}, "2", random)
	if err != nil {
		t.Fatal(err)
	}
	if asked == nil {
		return nil
	}
	p := pairing.Person{Channel: s.Channel, UserID: userID}
	if !p.Apply(coordination.TypePairingRequested, asked, s.Now) || !p.Waits(s.Now) || p.Waits(s.Now+pairing.TTL.Milliseconds()) {
		t.Fatalf("a request makes %+v of a stranger", p)
	}
	s.Waiting = append(s.Waiting, p)
	return asked
}

func code(t *testing.T, err error) string {
	t.Helper()
	var refused *pairing.Refusal
	if err != nil && (!errors.As(err, &refused) || refused.Field == "" || refused.HintText == "") {
		t.Fatalf("%v is no refusal with field and hint", err)
	}
	if refused == nil {
		return ""
	}
	return refused.Reason
}

// At most three people wait, each with one code of their own, in letters and digits that no one confuses.
func TestCodesAreFewAndPlain(t *testing.T) {
	t.Parallel()
	random := rand.NewChaCha8([32]byte{1})
	s := &pairing.Situation{Channel: "telegram", Now: 1_000}
	seen := map[string]bool{}
	for _, user := range []string{"41", "42", "41", "43"} {
		asked := ask(t, s, user, random)
		if (asked == nil) != (user == "41" && len(s.Waiting) > 1) {
			t.Fatalf("%s is given %+v", user, asked)
		}
		if asked != nil {
			if len(asked.Code) != 8 || strings.Trim(asked.Code, pairing.Alphabet) != "" || strings.ContainsAny(asked.Code, "0O1I") || seen[asked.Code] {
				t.Errorf("the code %q is not one of 8 plain characters, or not new", asked.Code)
			}
			seen[asked.Code] = true
		}
	}
	if asked := ask(t, s, "44", random); asked != nil {
		t.Errorf("a fourth person is given %s, want none", asked.Code)
	}
	if len(pairing.Alphabet) != 32 {
		t.Errorf("of %d characters some are likelier than others", len(pairing.Alphabet))
	}
}

// A code that is drawn twice is given once, and a source that fails gives none.
func TestCodesAreNotRepeated(t *testing.T) {
	t.Parallel()
	s := &pairing.Situation{Channel: "telegram"}
	ask(t, s, "41", bytes.NewReader(make([]byte, 8)))
	if asked := ask(t, s, "42", bytes.NewReader(append(make([]byte, 8), 1, 2, 3, 4, 5, 6, 7, 8))); asked.Code != "BCDEFGHJ" {
		t.Errorf("the second code is %s", asked.Code)
	}
	if _, err := s.Ask(&pairing.Person{UserID: "43"}, "3", bytes.NewReader(make([]byte, 8*100))); err == nil {
		t.Error("a source that only repeats gives a code")
	}
}

// Only the code of a pending request approves, and only its person; wrong ones count, and after ten none is accepted.
func TestOnlyItsCodeApproves(t *testing.T) {
	t.Parallel()
	s := &pairing.Situation{Channel: "slack", Now: 5}
	first := ask(t, s, "U1", rand.NewChaCha8([32]byte{1}))
	second := ask(t, s, "U2", rand.NewChaCha8([32]byte{2}))
	p, approved, err := s.Approve(" "+strings.ToLower(second.Code)+"\n", "kim")
	if err != nil || p.UserID != "U2" || approved.UserID != "U2" || approved.By != "kim" || approved.Channel != "slack" {
		t.Fatalf("it approves %+v with %+v, %v", p, approved, err)
	}
	for _, wrong := range []string{"", "x", first.Code[:7], first.Code + "A", "a name", "U1", strings.Repeat("A", 1<<20)} {
		var refused *pairing.Refusal
		if _, _, err := s.Approve(wrong, "kim"); code(t, err) != pairing.CodeUnknownCode || !errors.As(err, &refused) || !refused.Details.Counts || len(refused.Text) > 200 {
			t.Errorf("%.20q is answered %v", wrong, err)
		}
	}
	s.Refused = pairing.MaxRefused
	if _, _, err := s.Approve(first.Code, "kim"); code(t, err) != pairing.CodeTooMany {
		t.Errorf("after too many wrong codes the right one is answered %v", err)
	}
	if wrong := s.Wrong("kim"); wrong.Code != "" || wrong.UserID != "" {
		t.Errorf("a wrong code is recorded as %+v", wrong)
	}
}

// A permission is taken back, and so is a request; a redacted decision counts, and a redacted request does not.
func TestDecisionsFold(t *testing.T) {
	t.Parallel()
	s := &pairing.Situation{Channel: "slack"}
	asked := ask(t, s, "U1", rand.NewChaCha8([32]byte{1}))
	p := s.Waiting[0]
	if _, err := s.Revoke(&p, "kim"); err != nil {
		t.Errorf("a request cannot be taken back: %v", err)
	}
	p.Apply(coordination.TypePairingApproved, nil, 7)
	if p.State != pairing.Approved || p.Code != "" || p.SinceMs != 7 || p.Apply(coordination.TypePairingRequested, asked, 8) {
		t.Errorf("a redacted approval makes %+v", p)
	}
	if _, err := s.Revoke(&p, "kim"); err != nil {
		t.Errorf("an approval cannot be taken back: %v", err)
	}
	p.Apply(coordination.TypePairingRevoked, &coordination.Pairing{By: "kim"}, 9)
	if _, err := s.Revoke(&p, "kim"); code(t, err) != pairing.CodeUnknown || p.State != pairing.Revoked || p.By != "kim" {
		t.Errorf("twice revoked: %+v, %v", p, err)
	}
	if p.Apply(coordination.TypePairingRequested, nil, 10) || !p.Apply(coordination.TypePairingRequested, asked, 10) {
		t.Error("a redacted request counts, or another one of a revoked person does not")
	}
}
