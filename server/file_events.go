package server

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/workspace"
)

// hasStoredContent reports whether the log stores a file's content.
func hasStoredContent(c *workspace.Change) bool {
	switch c.Kind {
	case workspace.KindTask:
		id, ok := strings.CutSuffix(c.File(), ".md")
		return ok && workspace.IsTaskID(id)
	case workspace.KindCurrent, workspace.KindHistory:
		return true
	}
	return false
}

// fileChange is the change event of a file.
type fileChange struct {
	change workspace.Change
	event  eventstore.NewEvent
	file   recordedFile
}

// describe describes the change of a file since its recorded state. Its error is fs.ErrNotExist for a file that was
// removed meanwhile.
func (l *changeLog) describe(c *workspace.Change) (fileChange, error) {
	was, known := l.noted[c.Path]
	n := fileChange{change: *c, file: recordedFile{agent: c.Agent, taskID: c.TaskID, sum: c.SHA256, bytes: c.Bytes, essence: c.Essence}}
	said := coordination.FileChanged{Path: c.Path, Change: c.Op,
		Context: coordination.Context{TaskID: c.TaskID, EventRole: coordination.RoleObservability}}
	if c.Op != workspace.OpUnlink {
		said.Change = workspace.OpAdd
		if known {
			said.Change = workspace.OpChange
		}
		if hasStoredContent(c) {
			text, err := l.read(c.Path)
			var refused *workspace.RefusedError
			switch {
			case errors.As(err, &refused): // it is too large, or no regular file any more
			case err != nil:
				return fileChange{}, err
			default:
				n.file.addContent(text)
				said.Text, said.Offset = newText(c, text, &was)
			}
		}
	}
	said.Bytes, said.SHA256 = n.file.bytes, n.file.sum
	data, err := json.Marshal(said)
	if err != nil {
		return fileChange{}, fmt.Errorf("write event of %s: %w", c.Path, err)
	}
	n.event = eventstore.NewEvent{Type: coordination.TypeFileChanged, AgentID: c.Agent, TS: c.Time, Data: data}
	return n, nil
}

// addContent adds the content of the file, which may be newer than the observed change.
func (f *recordedFile) addContent(text []byte) {
	sum := sha256.Sum256(text)
	f.sum, f.bytes, f.told = hex.EncodeToString(sum[:]), int64(len(text)), true
}

// newText is the content to record. History files grow at their end: the recorded part is left out.
func newText(c *workspace.Change, text []byte, was *recordedFile) (*string, int64) {
	var offset int64
	if c.Kind == workspace.KindHistory && was.told && was.bytes >= 0 && was.bytes <= int64(len(text)) && utf8.Valid(text[:was.bytes]) {
		if sum := sha256.Sum256(text[:was.bytes]); hex.EncodeToString(sum[:]) == was.sum {
			offset = was.bytes
		}
	}
	whole := string(text[offset:])
	return &whole, offset
}
