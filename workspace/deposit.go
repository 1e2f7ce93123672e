package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// depositDir is where files of messages lie in a workspace, as in OpenClaw.
const depositDir = "media/inbound"

// Limits of the name of a deposited file.
const (
	maxDepositName = 80 // bytes of the name that its sender gave it
	depositID      = 16 // digits of its content's hash, which come first
)

// Deposit copies a file of a message into a workspace, which is made if it is missing, and returns the copy's path relative to it. id is
// the SHA-256 of the content, and name what its sender calls it. The copy is replaced as a whole, and nothing outside of the workspace is
// reached, whatever links it holds. protected are files and directories that no workspace may hold.
func Deposit(dir string, protected []string, id, name string, content io.Reader) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the workspace: %w", err)
	}
	if err := Separate(dir, protected); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	if err := root.MkdirAll(depositDir, 0o700); err != nil {
		return "", fmt.Errorf("make %s in the workspace: %w", depositDir, err)
	}
	target := path.Join(depositDir, id[:depositID]+"-"+depositName(name))
	part := target + ".part"
	if err := root.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a killed process
		return "", fmt.Errorf("copy a file into the workspace: %w", err)
	}
	f, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("copy a file into the workspace: %w", err)
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = root.Rename(part, target)
	}
	if err != nil {
		return "", fmt.Errorf("copy a file into the workspace: %w", errors.Join(err, root.Remove(part)))
	}
	return target, nil
}

// Withdraw removes the copies of a file of messages from a workspace. A missing workspace has none.
func Withdraw(dir, id string) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), depositDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s of a workspace: %w", depositDir, err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), id[:depositID]+"-") {
			continue
		}
		if err := root.Remove(path.Join(depositDir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the copy of a file: %w", err)
		}
	}
	return nil
}

// depositName is a name with nothing in it that means something to a shell or a file system.
func depositName(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), strings.ContainsRune("._-", r):
			return r
		}
		return '_'
	}, strings.ToValidUTF8(name, "_"))
	clean = strings.Trim(clean, ".")
	if over := len(clean) - maxDepositName; over > 0 { // the end has the extension
		clean = clean[over:]
		for clean != "" && !utf8.RuneStart(clean[0]) {
			clean = clean[1:]
		}
		clean = strings.TrimLeft(clean, ".")
	}
	if clean == "" {
		return "file"
	}
	return clean
}
