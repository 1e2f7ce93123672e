//go:build oracle

package schedule_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestCronerOracle compares the due times of random expressions with those of croner 11 in the directory MODULES. COUNT and SEED choose
// the expressions.
func TestCronerOracle(t *testing.T) {
	name := filepath.Join(t.TempDir(), "answers.ndjson")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	count, seed := value("COUNT", "100000"), value("SEED", "1")
	t.Logf("COUNT=%s SEED=%s", count, seed)
	ask := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", "croner.mjs"), os.Getenv("MODULES"), count, seed)
	ask.Stdout, ask.Stderr = out, os.Stderr
	if err := ask.Run(); err != nil {
		t.Fatal(err)
	}
	checkAnswers(t, name)
}

func value(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}
