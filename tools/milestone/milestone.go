// Package milestone holds the tools with which agents see and change the milestones of Task-Hub, and has the items of milestones follow the
// tasks that they are linked to: through the queue of work, so that no task waits for Task-Hub, and nothing is lost while it is away.
package milestone

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/tools"
)

// Hub is what is needed of a client of Task-Hub: see internal/taskhub. Its errors are *taskhub.Error.
type Hub interface {
	Do(ctx context.Context, method string, segments []string, body json.RawMessage, header http.Header) (json.RawMessage, error)
}

// Log is what is needed of the store, with the projection run in it.
type Log interface {
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// Tools are the tools of milestones.
func Tools(hub Hub, log Log) []tools.Tool {
	d := &desk{hub, log}
	return []tools.Tool{d.listTool(), d.createTool(), d.addItemTool(), d.assignItemTool(), d.updateItemTool()}
}

// desk is where agents ask for milestones.
type desk struct {
	hub Hub
	log Log
}

// ownersOnly forbids a tool to who has no tasks of its own.
func ownersOnly() tools.Who {
	return tools.Who{NotFrom: []coordination.KeyKind{coordination.KeySubagent}, NotUtility: true}
}

// items is the last part of the path of a milestone's items.
const items = "items"

// Properties that several tools have.
const (
	milestoneProperty   = `"milestone_id":{"type":"string","minLength":1,"maxLength":200,"description":"The milestone, by its id."}`
	itemProperty        = `"item_id":{"type":"string","minLength":1,"maxLength":200,"description":"The item, by its id."}`
	titleProperty       = `"title":{"type":"string","minLength":1,"maxLength":500,"description":"What it is called."}`
	descriptionProperty = `"description":{"type":"string","maxLength":8000,"description":"What there is to know of it."}`
	assigneeProperty    = `"assignee":{"type":"string","minLength":1,"maxLength":64,"description":"The agent that does it."}`
)

// told is a text for Task-Hub: without space around it, and without secrets.
func told(text string) string { return coordination.Mask(coordination.TrimJS(text)) }
