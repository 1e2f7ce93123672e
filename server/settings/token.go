package settings

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/internal/durable"
)

// TokenName is the file of a state directory with the gateway token, used if none is configured.
const TokenName = "openclawd-gateway.token"

// TokenFile is the path of a state directory's token file.
func TokenFile(stateDir string) string { return filepath.Join(stateDir, TokenName) }

const (
	tokenBytes    = 32   // random bytes of a token
	maxTokenBytes = 1024 // maximum size of a token file, less than any database
)

// KeptToken is the content of a token file.
type KeptToken struct {
	Token   config.Secret
	Exposed bool // other users of the machine can read it
}

// ReadToken reads a token file. Its errors are *config.SettingError, or wrap fs.ErrNotExist if there is no file.
func ReadToken(path string) (KeptToken, error) {
	refuse := func(err error) (KeptToken, error) {
		hint := "openclawd token --new makes a new one in its place"
		if errors.Is(err, fs.ErrPermission) {
			hint = "only the user that runs openclawd serve can read it: run as that user, or give a token: --token, " + envGatewayToken
		}
		return KeptToken{}, &config.SettingError{Setting: "gateway token", Value: path, Err: err, HintText: hint}
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return KeptToken{}, fmt.Errorf("read gateway token: %w", err)
	case err != nil:
		return refuse(err)
	case !info.Mode().IsRegular():
		return refuse(errors.New("not a regular file"))
	case info.Size() > maxTokenBytes:
		return refuse(errors.New("too large for a token"))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return refuse(err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return refuse(errors.New("no token in it"))
	}
	const others = 0o077
	return KeptToken{config.Secret(token), info.Mode().Perm()&others != 0}, nil
}

// MakeToken atomically replaces a token file with a random token, readable only by its owner. The directory is created
// if needed.
func MakeToken(path string, random io.Reader) (token config.Secret, err error) {
	bits := make([]byte, tokenBytes)
	if _, err := io.ReadFull(random, bits); err != nil {
		return "", fmt.Errorf("make token: %w", err)
	}
	token = config.Secret(base64.RawURLEncoding.EncodeToString(bits))
	if err := replaceToken(path, token); err != nil {
		return "", &config.SettingError{Setting: "gateway token", Value: path, Err: err,
			HintText: "let this user write there, or set a token in " + envGatewayToken}
	}
	return token, nil
}

func replaceToken(path string, token config.Secret) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.ReplaceBytes(path, 0o600, []byte(token.Reveal()+"\n"))
}

// Kept reports whether the state directory's token file is used: clients authenticate with a token and none is
// configured.
func (g *Gateway) Kept() bool {
	return !g.Off() && g.Mode.Value == ModeToken && g.Token.Source == sourceDefault
}

// Keep reads the token from its file if none is configured. made reports that there was no file and one was created from random; with a nil
// random none is created, and there may be no token then.
func (g *Gateway) Keep(path string, random io.Reader) (kept KeptToken, made bool, err error) {
	if !g.Kept() {
		return KeptToken{}, false, nil
	}
	kept, err = ReadToken(path)
	if errors.Is(err, fs.ErrNotExist) {
		if random == nil {
			return KeptToken{}, false, nil
		}
		kept.Token, err = MakeToken(path, random)
		made = err == nil
	}
	g.Token.Value = kept.Token
	return kept, made, err
}
