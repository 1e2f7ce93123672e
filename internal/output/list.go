package output

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// List is the JSON output of a list: {"<name>": [...], "count": 1}, with more if that is not nil.
type List[A any] struct {
	Name string
	Rows []A
	More *bool
}

func (a List[A]) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	fmt.Fprintf(&b, "{%q: ", a.Name)
	if err := enc.Encode(a.Rows); err != nil {
		return nil, err
	}
	fmt.Fprintf(&b, `, "count": %d`, len(a.Rows))
	if a.More != nil {
		fmt.Fprintf(&b, `, "more": %t`, *a.More)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
