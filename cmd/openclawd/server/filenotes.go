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

// tellsOfTasks reports whether the log keeps what a file says.
func tellsOfTasks(c *workspace.Change) bool {
	switch c.Kind {
	case workspace.KindTask:
		id, ok := strings.CutSuffix(c.File(), ".md")
		return ok && workspace.IsTaskID(id)
	case workspace.KindCurrent, workspace.KindHistory:
		return true
	}
	return false
}

// note is what is noted of a file.
type note struct {
	change workspace.Change
	event  eventstore.NewEvent
	file   notedFile
}

// note says what happened since the log last spoke of the file. Its error is fs.ErrNotExist for a file that has gone meanwhile.
func (l *changeLog) note(c *workspace.Change) (note, error) {
	was, known := l.noted[c.Path]
	n := note{change: *c, file: notedFile{agent: c.Agent, taskID: c.TaskID, sum: c.SHA256, bytes: c.Bytes, essence: c.Essence}}
	said := coordination.FileChanged{Path: c.Path, Change: c.Op,
		Context: coordination.Context{TaskID: c.TaskID, EventRole: coordination.RoleObservability}}
	if c.Op != workspace.OpUnlink {
		said.Change = workspace.OpAdd
		if known {
			said.Change = workspace.OpChange
		}
		if tellsOfTasks(c) {
			text, err := l.read(c.Path)
			var refused *workspace.RefusedError
			switch {
			case errors.As(err, &refused): // it is too large, or no file any more
			case err != nil:
				return note{}, err
			default:
				n.file.tell(text)
				said.Text, said.Offset = newText(c, text, &was)
			}
		}
	}
	said.Bytes, said.SHA256 = n.file.bytes, n.file.sum
	data, err := json.Marshal(said)
	if err != nil {
		return note{}, fmt.Errorf("write event of %s: %w", c.Path, err)
	}
	n.event = eventstore.NewEvent{Type: coordination.TypeFileChanged, AgentID: c.Agent, TS: c.Time, Data: data}
	return n, nil
}

// tell takes over what the file says, which may be newer than the look at it.
func (f *notedFile) tell(text []byte) {
	sum := sha256.Sum256(text)
	f.sum, f.bytes, f.told = hex.EncodeToString(sum[:]), int64(len(text)), true
}

// newText is what the log is told of a file. History grows at its end: what the log knows already is left out.
func newText(c *workspace.Change, text []byte, was *notedFile) (*string, int64) {
	var offset int64
	if c.Kind == workspace.KindHistory && was.told && was.bytes >= 0 && was.bytes <= int64(len(text)) && utf8.Valid(text[:was.bytes]) {
		if sum := sha256.Sum256(text[:was.bytes]); hex.EncodeToString(sum[:]) == was.sum {
			offset = was.bytes
		}
	}
	whole := string(text[offset:])
	return &whole, offset
}
