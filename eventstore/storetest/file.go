package storetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// File returns the content of the file that build creates at an unused path. It is built once: copying it is much
// faster than creating a store for each test.
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

// Copy writes such a file to path, where nothing may be.
func Copy(t testing.TB, file func() ([]byte, error), path string) {
	t.Helper()
	content, err := file()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}
