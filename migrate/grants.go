package migrate

import (
	"context"
	"strings"

	"github.com/pronto-lab/openclawd/internal/output"
)

// granted lists what owners have granted and entrusted, and files that are theirs to copy: none of it is taken over.
func (t *taker) granted(ctx context.Context) {
	if t.wants(People) {
		for _, g := range t.source.AllowedCommands(ctx) {
			t.leave(g.Place, ReasonPermission, "the agent "+g.Agent+" may run "+output.Count(int64(g.Count), "command")+
				" without being asked: OpenClaw compares programs, openclawd whole commands, and a rule made of the one would allow more",
				"write rules for exec into tools.approvals of openclaw.json, or answer its questions with allow-always")
		}
		if g := t.source.PairedDevices(ctx); g.Count > 0 {
			t.leave(g.Place, ReasonCredential, output.Count(int64(g.Count), "paired device")+": tokens of devices are valid for the gateway that made them",
				"connect them with the token that openclawd token shows")
		}
	}
	if found := t.source.Companions(); t.wants(Coordination) && len(found) > 0 {
		t.leave(found[0], ReasonWorkspace, "threads, requests, conversations, plans and choices of ProntoClaw are not copied: "+strings.Join(found, ", "),
			"copy them to the same places in the state directory: a server takes them over when it starts")
	}
	if !t.wants(Sessions) {
		return
	}
	for _, g := range t.source.KeyFiles() {
		t.leave(g.Place, ReasonCredential, "keys of models are not copied", "set them in the environment")
	}
	if found := t.source.Workspaces(); len(found) > 0 {
		t.leave(found[0], ReasonWorkspace, "files of agents, with what they remember (MEMORY.md, memory), are not copied: "+strings.Join(found, ", "),
			"copy them into the state directory, or name one place for both programs with workspace in openclaw.json")
	}
}
