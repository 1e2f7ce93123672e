package pending_test

import (
	"encoding/json"
	"testing"

	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/projections/pending"
	"github.com/pronto-lab/openclawd/projections/permissions"
)

// The title of a call hides no argument.
func TestTitlesOfCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, args, want string }{
		{"exec", `{"command":"git push"}`, "exec git push"},
		{"exec", `{"command":"git push","env":{"PATH":"/x"}}`, `exec {"command":"git push","env":{"PATH":"/x"}}`},
		{"files__put", `{"command":"ls","path":"/etc/passwd"}`, `files__put {"command":"ls","path":"/etc/passwd"}`},
		{"files__put", `{"command":"ls"}`, `files__put {"command":"ls"}`},
		{"read", "", "read"},
		{"", `{"command":"ls"}`, "(redacted)"},
	} {
		s := permissions.Shown{Approval: permission.Approval{Tool: c.tool}, Arguments: json.RawMessage(c.args)}
		if got := pending.OfCall(&s).Title; got != c.want {
			t.Errorf("%s %s is %q, want %q", c.tool, c.args, got, c.want)
		}
	}
}
