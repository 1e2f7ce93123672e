package once_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/once"
)

func keyOf(t *testing.T, agent, session, callID, name, args string) once.Key {
	t.Helper()
	k, err := once.KeyOf(nil, &tools.Call{Caller: tool.Caller{AgentID: agent, SessionKey: session, CallID: callID}, Args: json.RawMessage(args)}, name)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A key depends on everything that identifies a call, and on nothing else. Outside of a run no table is read for it.
func TestKeysTellCallsApart(t *testing.T) {
	t.Parallel()
	first := []string{"eden", "agent:eden:main", "1", "task_start", `{}`}
	seen := map[once.Key]string{}
	for i := -1; i < len(first); i++ {
		call := append([]string(nil), first...)
		if i >= 0 {
			call[i] += "x"
		}
		k := keyOf(t, call[0], call[1], call[2], call[3], call[4])
		if other, is := seen[k]; is {
			t.Errorf("%q has the key of %s", call, other)
		}
		seen[k] = fmt.Sprint(call)
		if again := keyOf(t, call[0], call[1], call[2], call[3], call[4]); again != k {
			t.Errorf("%q has another key when it is made again", call)
		}
	}
	if k := keyOf(t, "eden", "agent:eden:main", "", "task_start", `{}`); k != (once.Key{}) || !k.Done().IsZero() || !k.Refused().IsZero() {
		t.Error("a call without repetitions has a key")
	}
}

// The ids are stored in logs: another version of the program has to find them.
func TestIDsStayTheSame(t *testing.T) {
	t.Parallel()
	k := keyOf(t, "eden", "agent:eden:main", "1", "task_start", `{}`)
	for id, want := range map[eventstore.ID]string{
		k.Done():    "00000000-0000-7300-adea-7e23cc8d1a2f",
		k.Refused(): "00000000-0000-72cc-8923-d7808f38f33f",
	} {
		if got := id.String(); got != want {
			t.Errorf("the id is %s, want %s", got, want)
		}
	}
	if a, b := once.Digest("ab", "c"), once.Digest("a", "bc"); a == b || a == once.Digest("abc") || a == once.Digest("ab", "c", "") {
		t.Error("other lists have the same digest")
	}
}
