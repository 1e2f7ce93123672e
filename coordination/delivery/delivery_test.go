package delivery_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/response"
)

func TestWorkIsOrderedByPlace(t *testing.T) {
	t.Parallel()
	inThread, noKey := draft("hi"), opening("hi")
	inThread.ThreadID, noKey.Open.ReuseKey = thread, ""
	for name, c := range map[string]struct {
		d    *delivery.Delivery
		want string
	}{
		"a channel":               {draft("hi"), "discord/" + channel},
		"a thread":                {inThread, "discord/" + thread},
		"a thread that is opened": {opening("hi"), "discord/open/" + channel + "/ruda:eden"},
		"without a reuse key":     {noKey, "discord/open/" + channel + "/e"},
	} {
		w, err := c.d.Work("e", 5)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := coordination.WorkScheduled{Context: coordination.Context{EventRole: coordination.RoleObservability}, EffectID: "e", Kind: "discord", Key: c.want,
			Pool: "discord", Owner: "ruda", DueAtMs: 5, Payload: w.Payload}
		if diff := cmp.Diff(want, w); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		var back delivery.Delivery
		if err := json.Unmarshal(w.Payload, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(*c.d, back); diff != "" {
			t.Errorf("%s: the payload is not the delivery (-want +got):\n%s", name, diff)
		}
	}
}

func TestWorkHoldsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "sk-abcdefghijklmnopqrstuvwxyz"
	d := draft("the key is " + secret)
	w, err := d.Work("e", 0)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(w.Payload), secret) {
		t.Errorf("the payload %s holds the secret", w.Payload)
	}
	if !strings.Contains(d.Messages[0], secret) {
		t.Error("what was given was changed")
	}
}

func TestWorkRefusesWhatCannotBePosted(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(d *delivery.Delivery){
		"purpose":         func(d *delivery.Delivery) { d.Purpose = "" },
		"accountId":       func(d *delivery.Delivery) { d.AccountID = "" },
		"agentId":         func(d *delivery.Delivery) { d.AgentID = strings.Repeat("a", 257) },
		"runId":           func(d *delivery.Delivery) { d.RunID = "a\x00" },
		"channelId":       func(d *delivery.Delivery) { d.ChannelID = "general" },
		"threadId":        func(d *delivery.Delivery) { d.ThreadID = "-1" },
		"guildId":         func(d *delivery.Delivery) { d.GuildID = "0" },
		"replyTo":         func(d *delivery.Delivery) { d.ReplyTo = "x" },
		"notify":          func(d *delivery.Delivery) { d.Notify = []string{"<@1>"} },
		"open":            func(d *delivery.Delivery) { *d = *opening("hi"); d.ThreadID = thread },
		"open.name":       func(d *delivery.Delivery) { *d = *opening("hi"); d.Open.Name = strings.Repeat("가", 101) },
		"open.reuseKey":   func(d *delivery.Delivery) { *d = *opening("hi"); d.Open.ReuseKey = strings.Repeat("k", 1025) },
		"messages":        func(d *delivery.Delivery) { d.Messages = nil },
		"messages[0]":     func(d *delivery.Delivery) { d.Messages[0] = " \n\ufeff" },
		"messages[1]":     func(d *delivery.Delivery) { d.Messages = []string{"a", strings.Repeat("가", 2001)} },
		"files":           func(d *delivery.Delivery) { d.Files = make([]delivery.File, delivery.MaxFiles+1) },
		"files[0].name":   func(d *delivery.Delivery) { d.Files = []delivery.File{file("", 1)} },
		"files[0].size":   func(d *delivery.Delivery) { d.Files = []delivery.File{file("a", 10<<20+1)} },
		"files[1].size":   func(d *delivery.Delivery) { d.Files = []delivery.File{file("a", 1), file("a", 0)} },
		"files[0].sha256": func(d *delivery.Delivery) { d.Files = []delivery.File{{Name: "a", Size: 1, SHA256: "../x"}} },
		"messages, a post": func(d *delivery.Delivery) {
			*d = *opening()
			d.Open.Starter, d.Files = true, []delivery.File{file("a", 1)}
		},
		"components":     func(d *delivery.Delivery) { d.Components = json.RawMessage(`{}`) },
		"detail":         func(d *delivery.Delivery) { d.Detail = json.RawMessage(`[]`) },
		"detail, broken": func(d *delivery.Delivery) { d.Detail = json.RawMessage(`{`) },
	} {
		d := draft("hi")
		change(d)
		_, err := d.Work("e", 0)
		var refused *delivery.Refusal
		if want, _, _ := strings.Cut(field, ","); !errors.As(err, &refused) || refused.Field != want || refused.HintText == "" || refused.Code() != delivery.CodeInvalid {
			t.Errorf("%s: the error is %v, want a refusal with a hint", field, err)
		}
	}
	var refused *delivery.Refusal
	if _, err := draft("hi").Work("", 0); !errors.As(err, &refused) || refused.Field != "effectId" {
		t.Errorf("without a name the error is %v, want it refused", err)
	}
	many := draft(make([]string, delivery.MaxMessages+1)...)
	if _, err := many.Work("e", 0); !errors.As(err, &refused) || refused.Field != "messages" {
		t.Errorf("of %d messages the error is %v, want them refused", len(many.Messages), err)
	}
	long := draft("hi")
	for range delivery.MaxMessages - 1 {
		long.Messages = append(long.Messages, strings.Repeat("가", 2000))
	}
	if _, err := long.Work("e", 0); err != nil {
		t.Errorf("the longest delivery is refused: %v", err)
	}
}

func file(name string, size int64) delivery.File {
	return delivery.File{Name: name, Size: size, SHA256: strings.Repeat("0a", 32)}
}

// Files are posted after the texts, each as a message of its own, and may stand alone.
func TestFilesFollowTheTexts(t *testing.T) {
	t.Parallel()
	for _, texts := range [][]string{{"one", "two"}, nil} {
		d := draft(texts...)
		d.Files = []delivery.File{file("a", 1), file("b", 2)}
		if _, err := d.Work("e", 0); err != nil {
			t.Fatal(err)
		}
		var p delivery.Progress
		var got []string
		for step := delivery.Next(d, &p, 0); step.Do == delivery.PostOne; step = delivery.Next(d, &p, 0) {
			text, f := d.Post(step.Index)
			if f != nil {
				text = "file " + f.Name
			}
			got = append(got, text)
			p.Posted(fmt.Sprint(step.Index+1), 0)
		}
		if want := append(slices.Clone(texts), "file a", "file b"); !slices.Equal(got, want) || len(p.MessageIDs) != d.Posts() {
			t.Errorf("posted are %q, want %q", got, want)
		}
	}
}

func TestNonces(t *testing.T) {
	t.Parallel()
	d := draft("a", "b")
	seen := map[string]string{}
	for _, effect := range []string{"e", "f"} {
		for _, place := range []string{channel, thread} {
			for i := range 3 {
				for _, system := range []bool{false, true} {
					d.System = system
					n := d.Nonce(effect, place, i)
					what := effect + place + string(rune('0'+i))
					if before := seen[n]; before != "" || len(n) != 25 || n != d.Nonce(effect, place, i) || response.SystemNonce(n) != system {
						t.Errorf("the nonce of %s, system %v, is %q, want 25 characters of its own that say what it is; %q has it", what, system, n, before)
					}
					seen[n] = what
				}
			}
		}
	}
}
