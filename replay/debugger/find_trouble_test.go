package debugger

import (
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// FindTrouble finds by the index what Find finds by reading, from every event, both ways.
func TestFindTroubleFindsWhatReadingFinds(t *testing.T) {
	t.Parallel()
	found := 0
	for _, log := range []*sqlite.DB{team(t), golden(t, "4-flows"), golden(t, "7-discord"), newLog(t)} {
		for from := range headOf(t, log) + 2 {
			for _, way := range []Direction{Later, Earlier} {
				want, err := Find(t.Context(), log, from, way, IsTrouble, nil)
				if err != nil {
					t.Fatal(err)
				}
				got, err := FindTrouble(t.Context(), log, from, way)
				if err != nil || got != want {
					t.Fatalf("from %d, way %d: %d, %v, want %d", from, way, got, err, want)
				}
				if got > 0 {
					found++
				}
			}
		}
	}
	if found == 0 {
		t.Error("there is no failure in these logs")
	}
}
