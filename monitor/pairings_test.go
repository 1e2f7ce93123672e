package monitor_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/pairing"
	"github.com/pronto-lab/openclawd/monitor"
)

// pairer notes what it is to decide, and answers as it is told to.
type pairer struct {
	asked string
	err   error
}

func (d *pairer) Approve(_ context.Context, channel, code, by string, notify bool) (pairing.Person, error) {
	d.asked = fmt.Sprintf("approve %s %s by %s, notify %v", channel, code, by, notify)
	return pairing.Person{Channel: channel, UserID: "42", State: pairing.Approved, SinceMs: 5, By: by}, d.err
}

func (d *pairer) Revoke(_ context.Context, channel, userID, by string) (pairing.Person, error) {
	d.asked = "revoke " + channel + " " + userID + " by " + by
	return pairing.Person{Channel: channel, UserID: userID, State: pairing.Revoked, SinceMs: 5, By: by}, d.err
}

// A decision about a person is passed on as it was sent; a refusal has a status, a code and the field.
func TestPeopleArePaired(t *testing.T) {
	t.Parallel()
	refusing := func(reason, field string) error {
		return &pairing.Refusal{Reason: reason, Field: field, Value: "v", Text: "it is so", HintText: "do this"}
	}
	for name, c := range map[string]struct {
		verb, body string
		err        error
		asked      string
		status     int
		says       string
	}{
		"approve": {"approve", `{"channel":"telegram","code":"ABCD2345","by":" 민수 ","notify":true}`, nil, "approve telegram ABCD2345 by 민수, notify true", 200,
			`{"ok":true,"channel":"telegram","userId":"42","state":"approved","sinceMs":5,"by":"민수"}`},
		"quietly":         {"approve", `{"channel":"slack","code":"x"}`, nil, "approve slack x by api, notify false", 200, `"ok":true`},
		"revoke":          {"revoke", `{"channel":"slack","userId":"U1"}`, nil, "revoke slack U1 by api", 200, `"state":"revoked"`},
		"no channel":      {"approve", `{"code":"x"}`, nil, "", 400, `"code":"missing_field","field":"channel"`},
		"no code":         {"approve", `{"channel":"slack"}`, nil, "", 400, `"code":"missing_field","field":"code"`},
		"no person":       {"revoke", `{"channel":"slack","userId":""}`, nil, "", 400, `"code":"missing_field","field":"userId"`},
		"a number":        {"approve", `{"channel":"slack","code":5}`, nil, "", 400, `"code":"invalid_parameter","field":"code"`},
		"a word":          {"approve", `{"channel":"slack","code":"x","notify":"yes"}`, nil, "", 400, `"code":"invalid_parameter","field":"notify"`},
		"notify no one":   {"revoke", `{"channel":"slack","userId":"U1","notify":true}`, nil, "", 400, `"field":"notify"`},
		"another member":  {"approve", `{"channel":"slack","code":"x","userId":"U1"}`, nil, "", 400, `"field":"userId"`},
		"nothing":         {"approve", "", nil, "", 400, `"invalid_body"`},
		"an unknown code": {"approve", `{"channel":"slack","code":"x"}`, refusing(pairing.CodeUnknownCode, "code"), "approve slack x by api, notify false", 404, `"code":"not_found","field":"code"`},
		"too many":        {"approve", `{"channel":"slack","code":"x"}`, refusing(pairing.CodeTooMany, "code"), "approve slack x by api, notify false", 409, `"code":"not_allowed","field":"code"`},
		"not paired":      {"revoke", `{"channel":"slack","userId":"U1"}`, refusing(pairing.CodeUnknown, "userId"), "revoke slack U1 by api", 404, `"code":"not_found","field":"userId"`},
		"no such channel": {"approve", `{"channel":"irc","code":"x"}`, refusing(pairing.CodeInvalid, "channel"), "approve irc x by api, notify false", 400, `"code":"invalid_parameter","field":"channel"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &pairer{err: c.err}
			b := setup(t, func(o *monitor.Options) { o.Pairings = d })
			answer := b.from("127.0.0.1:1", http.MethodPost, "/api/pairings/"+c.verb, c.body)
			if answer.Code != c.status || !strings.Contains(answer.Body.String(), c.says) || d.asked != c.asked {
				t.Errorf("%d %s, asked %q; want %d with %s, asked %q", answer.Code, answer.Body, d.asked, c.status, c.says, c.asked)
			}
			newContract(t, b).held(t, operation{http.MethodPost, "/api/pairings/" + c.verb}, c.status, answer)
			d.asked = ""
			if answer := b.from("192.0.2.7:1", http.MethodPost, "/api/pairings/"+c.verb, c.body); answer.Code != http.StatusUnauthorized || d.asked != "" {
				t.Errorf("from elsewhere: %d, asked %q", answer.Code, d.asked)
			}
		})
	}
	b := setup(t)
	if answer := b.from("127.0.0.1:1", http.MethodPost, "/api/pairings/approve", `{}`); answer.Code != http.StatusConflict {
		t.Errorf("where another gateway runs the agents: %d %s", answer.Code, answer.Body)
	}
}

// People are listed by channel and state; an expired request waits no longer.
func TestPairingsAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	asks := func(channel, user, code string, until int64) {
		b.happens(t, coordination.PairingStream(channel, user), coordination.TypePairingRequested, "", 1, coordination.Pairing{Channel: channel, UserID: user, Code: code, UntilMs: until})
	}
	const future = 1 << 50
	asks("telegram", "42", "ABCD2345", future)
	asks("slack", "U1", "EFGH2345", future)
	asks("slack", "U2", "JKLM2345", 1)
	b.happens(t, coordination.PairingStream("discord", "7"), coordination.TypePairingApproved, "", 1, coordination.Pairing{Channel: "discord", UserID: "7", By: "kim"})
	for query, want := range map[string]string{"": "telegram 42 ABCD2345; slack U1 EFGH2345", "?channel=slack": "slack U1 EFGH2345", "?state=approved": "discord 7 ", "?limit=1": "telegram 42 ABCD2345"} {
		var got []string
		for _, p := range get[monitor.PairingsAnswer](t, b, "/api/pairings"+query, http.StatusOK).Pairings {
			got = append(got, p.Channel+" "+p.UserID+" "+p.Code)
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}
