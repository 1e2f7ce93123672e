package sandbox

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"sync"
)

// Guard has a command end with all that it has started, also what has left its process group, when this program ends, however that happens. The
// command is started by a further stage of this program, which passes its end on. It has no limits, and reaches what this program reaches.
// Where there are no such stages, the command alone ends with this program, if the system can do that.
type Guard struct {
	cmd  *exec.Cmd
	once sync.Once
	read *os.File // of the stage
	end  *os.File // the stage ends everything when it is closed
}

// guarded is what the stage is told.
type guarded struct {
	Path string   `json:"path"`
	Args []string `json:"args"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
}

// maxGuarded bounds a command that is told to a stage, in bytes: Linux limits a variable to 128 KiB.
const maxGuarded = 96 << 10

// NewGuard prepares a command that has all but ExtraFiles. Start and Release belong to one command.
func NewGuard(cmd *exec.Cmd) (*Guard, error) {
	g := &Guard{cmd: cmd}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(guarded{cmd.Path, cmd.Args, cmd.Env, cmd.Dir}); err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil || usable() != nil || text.Len() > maxGuarded {
		endWithThis(cmd)
		return g, nil
	}
	if g.read, g.end, err = os.Pipe(); err != nil {
		return nil, err
	}
	cmd.Path, cmd.Args, cmd.Dir, cmd.ExtraFiles = exe, []string{"openclawd", "sandbox"}, "/", []*os.File{g.read}
	cmd.Env = []string{envStage + "=" + stageGuard, envPlan + "=" + text.String()}
	return g, nil
}

// Start starts the command.
func (g *Guard) Start() error {
	err := g.cmd.Start()
	if err != nil {
		g.Release()
	}
	if g.read != nil {
		_ = g.read.Close()
	}
	return err
}

// Release ends the command and all that it has started. It may be called at any time, and has to be called once the command has ended.
func (g *Guard) Release() {
	g.once.Do(func() {
		if g.end != nil {
			_ = g.end.Close()
			_ = g.read.Close() // for a command that was not started
		}
	})
}

const stageGuard = "guard"
