package ndjson_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/pronto-lab/openclawd/eventstore/ndjson"
)

// Importing the same log again, here with one line more, adds only what is new.
func ExampleImporter() {
	ctx, store := context.Background(), newLog()
	live := `{"type":"task.started","agentId":"eden","ts":1770984996357,"data":{"taskId":"task_1"}}` + "\n"
	for range 2 {
		report, err := ndjson.New(options(store)).Import(ctx, strings.NewReader(live), "coordination-events.ndjson")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("new:", report.New, "known:", report.Duplicates)
		live += `{"type":"task.completed","agentId":"eden","ts":1770984999000,"data":{"taskId":"task_1"}}` + "\n"
	}
	if _, err := ndjson.Export(ctx, store, os.Stdout, ndjson.ExportOptions{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// new: 1 known: 0
	// new: 1 known: 1
	// {"type":"task.started","agentId":"eden","ts":1770984996357,"data":{"taskId":"task_1"}}
	// {"type":"task.completed","agentId":"eden","ts":1770984999000,"data":{"taskId":"task_1"}}
}
