package coordination_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
)

const bookingForm = `{"type":"object","required":["email"],"properties":{
	"seats":{"type":"integer","minimum":1,"maximum":9}, "price":{"type":"number","exclusiveMinimum":0}, "window":{"type":"boolean"},
	"email":{"type":"string","format":"email"}, "code":{"type":"string","pattern":"^[A-Z]{2}$"}, "note":{"type":"string","maxLength":5},
	"meal":{"type":"string","oneOf":[{"const":"soup","title":"Soup"},{"const":"salad"}]}, "day":{"type":"string","format":"date"},
	"extras":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["bike","dog","bag"]}}, "api_key":{"type":"string"}}}`

// What a person gives is read as its field is, and what does not fit is refused with the field.
func TestValuesOfAForm(t *testing.T) {
	t.Parallel()
	in := coordination.CallInput{Mode: coordination.InputForm, Schema: json.RawMessage(bookingForm)}
	fields, err := in.Fields()
	if err != nil || len(fields) != 10 || fields[0].Name != "email" || !fields[0].Required || fields[1].Name != "api_key" || !fields[1].Secret || fields[0].Secret {
		t.Fatalf("%+v, %v", fields, err)
	}
	for given, want := range map[string]string{
		`{"email":"a@b.example"}`: `{"email":"a@b.example"}`,
		`{"email":"a@b.example","seats":"2","price":"1.5","window":"yes","meal":"soup","day":"2026-11-29","extras":"dog, bag","code":"AB","note":"오늘은요"}`: `{"code":"AB","day":"2026-11-29","email":"a@b.example","extras":["dog","bag"],"meal":"soup","note":"오늘은요","price":1.5,"seats":2,"window":true}`,
		`{"email":"a@b.example","seats":"","window":null,"meal":"","extras":["bike"]}`:                                                                    `{"email":"a@b.example","extras":["bike"]}`,
	} {
		values, err := in.Values(valuesOf(t, given))
		if err != nil || string(values) != want {
			t.Errorf("%s: %s, %v", given, values, err)
		}
	}
	for given, field := range map[string]string{
		`{}`: "email", `{"email":""}`: "email", `{"email":null}`: "email", `{"email":"a@b.example","seats":1.5}`: "seats", `{"email":"a@b.example","seats":"ten"}`: "seats",
		`{"email":"a@b.example","seats":0}`: "seats", `{"email":"a@b.example","price":0}`: "price", `{"email":"a@b.example","window":"maybe"}`: "window",
		`{"email":"a@b.example","meal":"cake"}`: "meal", `{"email":"a@b.example","extras":["cat"]}`: "extras", `{"email":"a@b.example","extras":"bike,dog,bag"}`: "extras",
		`{"email":"a@b.example","code":"abc"}`: "code", `{"email":"a@b.example","note":"too long"}`: "note", `{"email":"a@b.example","day":"29.11."}`: "day",
		`{"email":"a@b.example","other":1}`: "other", `{"email":"a@b.example","api_key":"correct-horse-battery-1"}`: "",
	} {
		values, err := in.Values(valuesOf(t, given))
		var wrong *coordination.InputError
		if !errors.As(err, &wrong) || wrong.Name != field || wrong.Hint == "" || wrong.Text == "" {
			t.Errorf("%s: %s, %v", given, values, err)
		}
	}
}

func valuesOf(t *testing.T, text string) (values map[string]json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// A form that people could not fill in is recognized before they are asked.
func TestUnusableForms(t *testing.T) {
	t.Parallel()
	for schema, why := range map[string]string{
		`[]`:                                     "cannot be read",
		`{"properties":{"a":{"type":"object"}}}`: `has the type "object"`,
		`{"properties":{"a":{"type":"array","items":{"type":"string"}}}}`:                       "list without choices",
		`{"properties":{"a":{"type":"string","pattern":"("}}}`:                                  "pattern that cannot be checked",
		`{"required":["b"],"properties":{}}`:                                                    "that it does not have",
		`{"properties":{` + strings.Repeat(`"x":{"type":"string"},`, 1) + manyFields(33) + `}}`: "more than 32",
	} {
		in := coordination.CallInput{Mode: coordination.InputForm, Schema: json.RawMessage(schema)}
		if _, err := in.Fields(); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%.80s: %v, want %q", schema, err, why)
		}
	}
}

func manyFields(n int) string {
	var fields []string
	for i := range n {
		fields = append(fields, `"f`+strings.Repeat("i", i)+`":{"type":"string"}`)
	}
	return strings.Join(fields, ",")
}
