package remote

import (
	"context"
	"encoding/json"
	"fmt"
)

// Answer answers a method of the gateway for workers. Errors are *Refusal.
func (w *Workers) Answer(ctx context.Context, method string, params json.RawMessage) (any, error) {
	if len(params) > MaxReport {
		return nil, &Refusal{CodeTooLarge, "", "", fmt.Sprintf("the report has %d bytes; at most %d are taken", len(params), MaxReport), "report less of it"}
	}
	switch method {
	case MethodRegister:
		r, err := read[Registration](params)
		if err != nil {
			return nil, err
		}
		return w.Register(r)
	case MethodLease:
		ask, err := read[LeaseAsk](params)
		if err != nil {
			return nil, err
		}
		return w.Lease(ctx, ask)
	case MethodNext:
		ask, err := read[NextAsk](params)
		if err != nil {
			return nil, err
		}
		return w.Next(ctx, ask)
	case MethodReport:
		ask, err := read[ReportAsk](params)
		if err != nil {
			return nil, err
		}
		return w.Report(&ask)
	case MethodLeave:
		ask, err := read[LeaseAsk](params)
		if err != nil {
			return nil, err
		}
		w.Leave(ask.WorkerID)
		return struct{}{}, nil
	}
	return nil, &Refusal{CodeInvalid, "method", method, "unknown method " + method, "use the same version of openclawd on both machines"}
}

// Shown lists the workers for operators.
func (w *Workers) Shown() any {
	return struct {
		Workers []Worker `json:"workers"`
	}{w.List()}
}

func read[A any](params json.RawMessage) (ask A, err error) {
	if err := json.Unmarshal(params, &ask); err != nil {
		return ask, &Refusal{CodeInvalid, "", "", fmt.Sprintf("the request cannot be read: %.200v", err), "use the same version of openclawd on both machines"}
	}
	return ask, nil
}
