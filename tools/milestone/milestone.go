// Package milestone defines the tools with which agents see and change the milestones of Task-Hub, and synchronizes the items of
// milestones with their tasks: through the work queue, so that no task waits for Task-Hub and nothing is lost while it is unavailable.
package milestone

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/tools"
)

// Hub is the part of the Task-Hub client in internal/taskhub that is used here. Its errors are *taskhub.Error.
type Hub interface {
	Do(ctx context.Context, method string, segments []string, body json.RawMessage, header http.Header) (json.RawMessage, error)
}

// Log is the part of the store that is used here, with the projection runs.
type Log interface {
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// Tools returns the milestone tools.
func Tools(hub Hub, log Log) []tools.Tool {
	d := &service{hub, log}
	return []tools.Tool{d.listTool(), d.createTool(), d.addItemTool(), d.assignItemTool(), d.updateItemTool()}
}

// service implements the milestone tools.
type service struct {
	hub Hub
	log Log
}

// ownersOnly restricts a tool to agents that have tasks.
func ownersOnly() tools.Who {
	return tools.Who{NotFrom: []coordination.KeyKind{coordination.KeySubagent}, NotUtility: true}
}

const items = "items"

const (
	milestoneProperty   = `"milestone_id":{"type":"string","minLength":1,"maxLength":200,"description":"Id of the milestone."}`
	itemProperty        = `"item_id":{"type":"string","minLength":1,"maxLength":200,"description":"Id of the item."}`
	titleProperty       = `"title":{"type":"string","minLength":1,"maxLength":500,"description":"Title."}`
	descriptionProperty = `"description":{"type":"string","maxLength":8000,"description":"Background information."}`
	assigneeProperty    = `"assignee":{"type":"string","minLength":1,"maxLength":64,"description":"Id of the agent that does it."}`
)

// cleanText trims a text and masks its secrets, for Task-Hub.
func cleanText(text string) string { return coordination.Mask(coordination.TrimJS(text)) }
