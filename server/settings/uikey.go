package settings

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/internal/durable"
)

// UIKeyName is the file of a state directory with the key of Task-Hub's sessions.
const UIKeyName = "openclawd-ui.key"

// UIKeyFile is the path of a state directory's key file.
func UIKeyFile(stateDir string) string { return filepath.Join(stateDir, UIKeyName) }

const (
	uiIDBytes  = 4
	uiKeyBytes = 32
)

// UIKey is the content of a key file: "<ID in hex> <key in base64>". A new key ends all sessions; the ID stays.
type UIKey struct {
	ID, Key []byte
	Exposed bool // other users of the machine can read it
}

// ReadUIKey reads a key file. Its errors wrap fs.ErrNotExist if there is none; else they are *config.SettingError.
func ReadUIKey(path string) (k UIKey, err error) {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxTokenBytes) {
		return k, uiKeyError(path, errors.New("not a key file"))
	}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return k, fmt.Errorf("read the session key: %w", err)
	case err != nil:
		return k, uiKeyError(path, err)
	}
	id, key, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	k.ID, err = hex.DecodeString(id)
	if err == nil {
		k.Key, err = base64.RawURLEncoding.DecodeString(key)
	}
	if err != nil || len(k.ID) != uiIDBytes || len(k.Key) != uiKeyBytes {
		return UIKey{}, uiKeyError(path, errors.New("not a key file"))
	}
	const others = 0o077
	k.Exposed = info.Mode().Perm()&others != 0
	return k, nil
}

func uiKeyError(path string, err error) error {
	hint := "openclawd token --new makes a new one in its place; all sessions end"
	if errors.Is(err, fs.ErrPermission) {
		hint = "only the user that runs openclawd serve can read it: run as that user"
	}
	return &config.SettingError{Setting: "key of Task-Hub's sessions", Value: path, Err: err, HintText: hint}
}

// MakeUIKey atomically replaces a key file with a random key, readable only by its owner. The ID of a file that was
// there is kept.
func MakeUIKey(path string, random io.Reader) (k UIKey, err error) {
	k, err = ReadUIKey(path)
	if err != nil {
		k.ID = make([]byte, uiIDBytes)
		if _, err := io.ReadFull(random, k.ID); err != nil {
			return k, fmt.Errorf("make the session key: %w", err)
		}
	}
	k.Key = make([]byte, uiKeyBytes)
	if _, err := io.ReadFull(random, k.Key); err != nil {
		return k, fmt.Errorf("make the session key: %w", err)
	}
	text := hex.EncodeToString(k.ID) + " " + base64.RawURLEncoding.EncodeToString(k.Key) + "\n"
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return k, uiKeyError(path, err)
	}
	if err := durable.ReplaceBytes(path, 0o600, []byte(text)); err != nil {
		return k, uiKeyError(path, err)
	}
	k.Exposed = false
	return k, nil
}

// NewUIKey is a key without a file.
func NewUIKey() UIKey {
	k := UIKey{ID: make([]byte, uiIDBytes), Key: make([]byte, uiKeyBytes)}
	_, _ = rand.Read(k.ID) // never fails
	_, _ = rand.Read(k.Key)
	return k
}
