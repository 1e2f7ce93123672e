package doctor

import (
	"strings"

	"github.com/pronto-lab/openclawd/internal/output"
)

// checkTaskFiles asks the server whether the task files match the log.
func (c *checkup) checkTaskFiles() {
	if c.server == nil || c.server.TaskFiles == nil {
		return
	}
	t := c.server.TaskFiles
	if len(t.Refused) > 0 {
		c.warn("task_files_refused", c.server.StateDir, "give each agent a workspace of its own in openclaw.json, away from the database and its backups",
			"no task files are written for %s", strings.Join(t.Refused, "; "))
	}
	if n := len(t.Kept); n > 0 {
		c.warn("task_files_edited", c.server.StateDir, "apply the wanted edits with tools, then remove the saved copies",
			"task files were edited by hand: %s saved, such as %s", output.Count(int64(n), "file"), t.Kept[n-1])
	}
	if t.Error != "" {
		c.warn("task_files", c.server.StateDir, "check that the workspaces are writable and have space; writing is retried continuously",
			"the files do not match the log: %s", t.Error)
		return
	}
	c.ok("task_files", c.server.StateDir, "%s behind the log, %s written, %s", output.Count(t.Lag, "event"), output.Count(t.Written, "file"),
		output.Count(t.Conflicts, "conflict"))
}
