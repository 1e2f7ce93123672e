package settings

import (
	"cmp"
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

// TokenName is the file of a state directory that holds the gateway's token where nobody has set one.
const TokenName = "openclawd-gateway.token"

// TokenFile is where a state directory keeps the token.
func TokenFile(stateDir string) string { return filepath.Join(stateDir, TokenName) }

const (
	tokenBytes    = 32   // of chance in a token
	maxTokenBytes = 1024 // of a token's file; a database has more
)

// KeptToken is what a token's file holds.
type KeptToken struct {
	Token   config.Secret
	Exposed bool // other users of the machine may read it
}

// ReadToken reads a token's file. Its errors are *Error, or wrap fs.ErrNotExist where there is no file.
func ReadToken(path string) (KeptToken, error) {
	refuse := func(err error) (KeptToken, error) {
		mend := "openclawd token --new makes a new one in its place"
		if errors.Is(err, fs.ErrPermission) {
			mend = "only the user that runs openclawd serve may read it: ask as that one, or show a token that you know: --token, " + envGatewayToken
		}
		return KeptToken{}, &Error{Setting: "token of the gateway", Value: path, Err: err, Mend: mend}
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return KeptToken{}, fmt.Errorf("read token of the gateway: %w", err)
	case err != nil:
		return refuse(err)
	case !info.Mode().IsRegular():
		return refuse(errors.New("it is no regular file"))
	case info.Size() > maxTokenBytes:
		return refuse(errors.New("it is too large for a token"))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return refuse(err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return refuse(errors.New("it holds no token"))
	}
	const others = 0o077
	return KeptToken{config.Secret(token), info.Mode().Perm()&others != 0}, nil
}

// MakeToken puts a token made of random in the place of a token's file, all of it or nothing, so that only its owner may read it. The
// directory is made if need be.
func MakeToken(path string, random io.Reader) (token config.Secret, err error) {
	bits := make([]byte, tokenBytes)
	if _, err := io.ReadFull(random, bits); err != nil {
		return "", fmt.Errorf("make token: %w", err)
	}
	token = config.Secret(base64.RawURLEncoding.EncodeToString(bits))
	if err := replaceToken(path, token); err != nil {
		return "", &Error{Setting: "token of the gateway", Value: path, Err: err,
			Mend: "let this user write there, or set a token in " + envGatewayToken}
	}
	return token, nil
}

func replaceToken(path string, token config.Secret) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	next, err := os.CreateTemp(dir, "."+TokenName+"-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = next.WriteString(token.Reveal() + "\n")
	err = errors.Join(cmp.Or(err, next.Sync()), next.Close())
	if err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return durable.SyncDir(dir)
}

// Kept reports whether the token is that of the state directory's file: nobody has set one, and clients are to show one.
func (g *Gateway) Kept() bool {
	return !g.Off() && g.Mode.Value == ModeToken && g.Token.Source == sourceDefault
}

// Keep takes the token from its file where nobody has set one. made says that there was no file and one was made, of random; nil makes
// none, and there may be no token then.
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
