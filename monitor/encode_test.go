package monitor_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/monitor"
)

// Answers that encode themselves are what encoding/json would make of them, whatever they contain.
func TestAnswersEncodeThemselves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		for range 20 {
			sameEncodings(r)
		}
	})
}

func sameEncodings(r *rapid.T) {
	for _, answer := range monitor.SelfEncoding(func(answer any) { fillAny(r, reflect.ValueOf(answer).Elem(), 3) }) {
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(answer); err != nil {
			r.Fatal(err)
		}
		got, err := monitor.Encode(answer)
		if err != nil {
			r.Fatal(err)
		}
		if want := bytes.TrimRight(want.Bytes(), "\n"); !bytes.Equal(got, want) {
			r.Fatalf("%T:\n%s\nwant\n%s", answer, got, want)
		}
	}
}

// fillAny sets a value, and all that it contains, to random ones. Pointers that are set stay.
func fillAny(r *rapid.T, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillAny(r, v.Field(i), depth)
		}
	case reflect.Pointer:
		if v.IsNil() && v.CanSet() && rapid.Bool().Draw(r, "there") {
			v.Set(reflect.New(v.Type().Elem()))
		}
		if !v.IsNil() {
			fillAny(r, v.Elem(), depth)
		}
	case reflect.Slice:
		fillSlice(r, v, depth)
	case reflect.Map:
		fillMap(r, v)
	case reflect.String:
		v.SetString(text().Draw(r, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(r, "bool"))
	case reflect.Float64:
		v.SetFloat(rapid.OneOf(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64), rapid.SampledFrom([]float64{0, 1e-7, 1e-9, 1.5e-12, 1e20, 1e21, 1771588800000.5})).Draw(r, "float"))
	default:
		v.SetInt(rapid.Int64().Draw(r, "int"))
	}
}

func text() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "이든 <b>&\"\\", "\b\f\n\r\t\x00\x1f\x7f", "\u2028\u2029\ufffd", "\xff\xc0가", "a\u20ac\xe2\x80"}))
}

func fillSlice(r *rapid.T, v reflect.Value, depth int) {
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes([]byte(rapid.SampledFrom([]string{`{}`, `{"a":[1,"<&>",null]}`, `{"seq":1.50}`}).Draw(r, "event")))
		return
	}
	n := rapid.IntRange(-1, 2).Draw(r, "n")
	if n < 0 || depth == 0 {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		fillAny(r, v.Index(i), depth-1)
	}
}

func fillMap(r *rapid.T, v reflect.Value) {
	n := rapid.IntRange(-1, 3).Draw(r, "n")
	if n < 0 {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range n {
		key := reflect.New(v.Type().Key()).Elem()
		key.SetString(text().Draw(r, "key"))
		v.SetMapIndex(key, reflect.ValueOf(rapid.Int64().Draw(r, "count")))
	}
}
