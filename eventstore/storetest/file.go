package storetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// File gives what is in the file that build makes at a path where nothing is. It is made once: to copy it is much quicker than to make a
// store for each test.
func File(build func(path string) error) func() (file []byte, err error) {
	return sync.OnceValues(func() (file []byte, err error) {
		dir, err := os.MkdirTemp("", "store-test-")
		if err != nil {
			return nil, fmt.Errorf("make file: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		path := filepath.Join(dir, "log.db")
		if err := build(path); err != nil {
			return nil, fmt.Errorf("make file: %w", err)
		}
		return os.ReadFile(path)
	})
}

// Copy puts such a file at path.
func Copy(t testing.TB, file func() ([]byte, error), path string) {
	t.Helper()
	content, err := file()
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
