package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// billFile is the name of a platform's bill of materials, in CycloneDX.
func (p platform) billFile() string { return p.base() + ".cdx.json" }

// billsOfMaterials lists the modules in each program, from what the Go toolchain stamped into it.
func (r *release) billsOfMaterials() error {
	for _, p := range r.platforms {
		path := filepath.Join(r.dist, p.billFile())
		if err := r.command(r.bills, "bin", "-json", "-std", "-noserial", "-notimestamp", "-version", r.version, "-output", path, r.program(p)); err != nil {
			return err
		}
		if err := r.dateBill(path); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// dateBill gives a bill the time of the release, and removes the hashes of the tool, which differ from machine to machine.
func (r *release) dateBill(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var bill map[string]any
	if err := json.Unmarshal(text, &bill); err != nil {
		return err
	}
	if data, ok := bill["metadata"].(map[string]any); ok {
		data["timestamp"] = r.time.Format("2006-01-02T15:04:05Z")
		delete(data, "tools")
	}
	if text, err = json.MarshalIndent(bill, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), document)
}
