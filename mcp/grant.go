package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/oauth2"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/internal/durable"
)

// grant is the access to a server that a person has granted, as it is stored.
type grant struct {
	URL          string           `json:"url"` // of the server; a token is sent to no other one
	ClientID     string           `json:"clientId"`
	ClientSecret string           `json:"clientSecret,omitempty"`
	TokenURL     string           `json:"tokenUrl"`
	AuthStyle    oauth2.AuthStyle `json:"authStyle"`
	Scopes       []string         `json:"scopes,omitempty"` // that were asked for
	Wanted       []string         `json:"wanted,omitempty"` // that the server has asked for since
	Token        *oauth2.Token    `json:"token,omitempty"`
}

// maxGrant bounds the file of a grant, in bytes.
const maxGrant = 256 << 10

// grants keeps the grants of servers in files of a directory.
type grants struct{ dir string }

// GrantFiles matches the names of files with what servers have granted.
const GrantFiles = "openclawd-mcp-*.json"

// file is the path of a server's grant. Servers whose names differ only in case or in what MCPName replaces are not in one configuration.
func (g grants) file(server string) string {
	return filepath.Join(g.dir, strings.Replace(GrantFiles, "*", strings.ToLower(config.MCPName(server)), 1))
}

// load returns the grant for a server at an address; nil for none.
func (g grants) load(server, url string) (*grant, error) {
	if g.dir == "" {
		return nil, nil
	}
	file, err := os.Open(g.file(server))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxGrant+1))
	if err != nil {
		return nil, err
	}
	var one grant
	if len(text) > maxGrant || json.Unmarshal(text, &one) != nil {
		return nil, fmt.Errorf("%s is not readable: remove it with openclawd mcp logout %s", file.Name(), server)
	}
	if one.URL != url {
		return nil, nil
	}
	return &one, nil
}

// save writes a grant, for its owner only, so that it is there also after a power cut.
func (g grants) save(server string, one *grant) error {
	if g.dir == "" {
		return errors.New("there is no state directory to keep it in")
	}
	text, err := json.Marshal(one)
	if err != nil {
		return err
	}
	return durable.ReplaceBytes(g.file(server), 0o600, text)
}

// state tells grants for a server apart, without reading them.
func (g grants) state(server string) string {
	info, err := os.Stat(g.file(server))
	if g.dir == "" || err != nil {
		return ""
	}
	return fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size())
}

// remove removes the grant for a server, and reports whether there was one.
func (g grants) remove(server string) (was bool, err error) {
	err = os.Remove(g.file(server))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
