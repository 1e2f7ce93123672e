package tools_test

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// Whatever a model or a client sends, the answer is an error with an explanation, or a tool has had one JSON object of bounded size.
func FuzzCall(f *testing.F) {
	for _, args := range []string{``, `{}`, `null`, `{"to":"a"}`, `{"to":"a","limit":5.0}`, `{"to":"\ud800"}`, `{"to":"a","share":1e308}`, `[[[[`, `{"to":"a"}x`,
		`{"to":"a","tags":["a"],"more":{"id":null},"any":true}`, `{"a/b":{"~":1}}`, "{\"to\":\"\xff\"}", `{"to":"a","share":-1e-400}`} {
		f.Add("deed", "agent:eden:main", "eden", args)
	}
	f.Add("Deed\x00", "agent::", "E D", `{}`)
	r, log := setup(f, nil, echo("deed", "x", judging), echo("free", "y", anything))
	f.Fuzz(func(t *testing.T, name, key, agent, args string) {
		out, err := r.Call(t.Context(), tool.Caller{Entry: tool.ByHTTP, AgentID: agent, SessionKey: key}, name, json.RawMessage(args))
		if e := (*tool.Error)(nil); errors.As(err, &e) {
			if e.Code == tool.CodeBroken || e.Text == "" || e.Hint == "" || len(e.Text) > 16<<10 || !utf8.ValidString(e.Text+e.Field) {
				t.Errorf("error is %+v, log is %s", e, log)
			}
			return
		}
		var object map[string]any
		if err != nil || len(out.Text) > 2*tools.MaxArgs || json.Unmarshal(out.Details, &object) != nil {
			t.Errorf("%+v, %v", out, err)
		}
	})
}
