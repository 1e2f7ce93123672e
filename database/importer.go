package database

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// NewImporter imports coordination logs into log: each event into its stream of our vocabulary, each line that is
// not an event as an import.rejected. progress may be nil.
func NewImporter(log *sqlite.DB, logger *slog.Logger, progress func(ndjson.Progress)) *ndjson.Importer {
	o := ImportOptions(log, logger)
	o.Progress = progress
	return ndjson.New(o)
}

// ImportOptions returns the options of NewImporter, for other readers of logs.
func ImportOptions(log *sqlite.DB, logger *slog.Logger) ndjson.Options {
	return ndjson.Options{Log: log, Restorer: log, Stream: streamOf, Reject: rejected, Logger: logger}
}

func streamOf(typ, agentID string, data, original []byte) string {
	r := coordination.ReadRecord(coordination.RulesV2, typ, agentID, 0, 0, data, original)
	return coordination.StreamOf(&r)
}

// rejected names the file without its directory, so that the same log yields the same event wherever it lies.
func rejected(file string, line int64, r ndjson.Rejection) (typ string, data json.RawMessage) {
	data, err := json.Marshal(coordination.ImportRejected{
		Context: coordination.Context{EventRole: coordination.RoleObservability},
		File:    filepath.Base(file), Line: line, Reason: string(r.Reason), Text: coordination.Mask(r.Text), Bytes: r.Bytes,
		SHA256: r.SHA256.String(),
	})
	if err != nil {
		panic(fmt.Sprintf("import.rejected does not marshal: %v", err)) // cannot fail for texts and numbers
	}
	return coordination.TypeImportRejected, data
}
