package doctor

import (
	"strings"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
)

// checkTaskFiles asks the server whether the files of tasks are as the log says.
func (c *checkup) checkTaskFiles() {
	if c.server == nil || c.server.TaskFiles == nil {
		return
	}
	t := c.server.TaskFiles
	if len(t.Refused) > 0 {
		c.warn("task_files_refused", c.server.StateDir, "give each agent a workspace of its own in openclaw.json, away from the database and its backups",
			"no files of tasks are written for %s", strings.Join(t.Refused, "; "))
	}
	if n := len(t.Kept); n > 0 {
		c.warn("task_files_edited", c.server.StateDir, "have what is wanted of it done with tools, then remove what was kept aside",
			"somebody has edited files of tasks: %s kept aside, such as %s", output.Count(int64(n), "file"), t.Kept[n-1])
	}
	if t.Error != "" {
		c.warn("task_files", c.server.StateDir, "see that the workspaces can be written and have room; it is tried again all the time",
			"they are not as the log says: %s", t.Error)
		return
	}
	c.ok("task_files", c.server.StateDir, "%s behind the log, %s written, %s", output.Count(t.Lag, "event"), output.Count(t.Written, "file"),
		output.Count(t.Conflicts, "conflict"))
}
