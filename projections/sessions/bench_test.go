package sessions_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/pronto-lab/openclawd/projections/sessions"
)

func BenchmarkList(b *testing.B) {
	l := setup(b)
	for i := range 100 {
		name := fmt.Sprint("s", i)
		l.append(b, event(int64(i), "patched", fmt.Sprintf(`"sessionKey":"agent:eden:%s","sessionId":"id-%d","set":{"label":"label %d"}`, name, i, i)),
			say(int64(i), name, "user", "배포 파이프라인을 복구해 주세요", `"channel":"webchat"`),
			say(int64(i), name, "assistant", "Here is an answer of some length, as they are", `"provider":"fake","model":"echo-1","usage":{"input":1,"output":2,"total":3}`))
	}
	for b.Loop() {
		err := l.View(b.Context(), func(tx *sql.Tx) error {
			list, err := sessions.List(b.Context(), tx, sessions.Query{})
			if err == nil && len(list) != 100 {
				err = fmt.Errorf("%d sessions", len(list))
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewest(b *testing.B) {
	l := setup(b)
	for i := range 10_000 {
		l.append(b, say(int64(i), "main", "user", "배포 파이프라인을 복구해 주세요", `"sessionId":"t"`))
	}
	for b.Loop() {
		err := l.View(b.Context(), func(tx *sql.Tx) error {
			list, err := sessions.Newest(context.Background(), tx, "t", 200, 1<<20)
			if err == nil && len(list) != 200 {
				err = fmt.Errorf("%d messages", len(list))
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
