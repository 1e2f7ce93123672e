package coordination

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// CallInput is input that the recipient of a call wants from a person (an elicitation of MCP). It has got none: it was told so, and the call has ended.
type CallInput struct {
	Mode       string          `json:"mode"`             // form, url
	Message    string          `json:"message"`          // secrets masked, as in the others
	URL        string          `json:"url,omitempty"`    // that a person opens, in mode url
	Schema     json.RawMessage `json:"schema,omitempty"` // of what is to be filled in, in mode form
	Digest     string          `json:"digest"`           // of the above as it was asked
	Number     int             `json:"number"`           // of the requests during this call, from 1
	Repeatable bool            `json:"repeatable"`       // the tool says that it may be called again
	Said       string          `json:"said,omitempty"`   // the beginning of what the call has returned without the input
}

// Modes of CallInput.
const (
	InputForm = "form"
	InputURL  = "url"
)

// Limits of CallInput and of what is given for it, in bytes.
const (
	MaxInputMessage = 4 << 10
	MaxInputSchema  = 16 << 10
	MaxInputURL     = 2 << 10
	MaxInputValues  = 16 << 10
	MaxInputFields  = 32
)

// InputField is a field of a form.
type InputField struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Type        string          `json:"type"`             // string, number, integer, boolean; array: some of the options
	Format      string          `json:"format,omitempty"` // of a string: email, uri, date, date-time
	Required    bool            `json:"required"`
	Options     []InputOption   `json:"options,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
	Secret      bool            `json:"secret,omitempty"` // it looks like a password or key, for which MCP forbids servers to ask in a form

	least, most       *float64 // the value, or the length of a string or array
	pattern           *regexp.Regexp
	exclLeast, exclTo *float64
}

// InputOption is a value that can be chosen.
type InputOption struct {
	Value string `json:"value"`
	Title string `json:"title,omitempty"`
}

// property is a field as the protocol writes it.
type property struct {
	Type, Title, Description, Format, Pattern string
	Default                                   json.RawMessage
	Enum                                      []string
	EnumNames                                 []string
	OneOf                                     []titled
	Items                                     *struct {
		Type  string
		Enum  []string
		AnyOf []titled
		OneOf []titled
	}
	MinLength, MaxLength, MinItems, MaxItems, Minimum, Maximum, ExclusiveMinimum, ExclusiveMaximum *float64
}

type titled struct{ Const, Title string }

// Fields are the fields of a form, those that are required first, else by name. Errors say why people cannot fill it in.
func (in *CallInput) Fields() ([]InputField, error) {
	if in.Mode != InputForm || len(in.Schema) == 0 {
		return nil, nil
	}
	var schema struct {
		Type       string
		Properties map[string]property
		Required   []string
	}
	if err := json.Unmarshal(in.Schema, &schema); err != nil {
		return nil, fmt.Errorf("its form cannot be read: %w", err)
	}
	if n := len(schema.Properties); n > MaxInputFields {
		return nil, fmt.Errorf("its form has %d fields, more than %d", n, MaxInputFields)
	}
	var fields []InputField
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		p := schema.Properties[name]
		f, err := p.field(name)
		if err != nil {
			return nil, fmt.Errorf("its field %.100q %w", name, err)
		}
		f.Required = slices.Contains(schema.Required, name)
		fields = append(fields, f)
	}
	for _, name := range schema.Required {
		if _, has := schema.Properties[name]; !has {
			return nil, fmt.Errorf("it requires a field %.100q that it does not have", name)
		}
	}
	slices.SortStableFunc(fields, func(a, b InputField) int { return cmp.Compare(orderOf(a.Required), orderOf(b.Required)) })
	return fields, nil
}

func orderOf(required bool) int {
	if required {
		return 0
	}
	return 1
}

// secretive matches the names of what MCP forbids servers to ask for in a form.
var secretive = regexp.MustCompile(`(?i)pass(word|wd|phrase|code)|secret|token|api[-_ ]?key|private[-_ ]?key|credential|card[-_ ]?number|\b(cvv|cvc|pin|otp)\b`)

func (p *property) field(name string) (f InputField, err error) {
	f = InputField{Name: name, Title: p.Title, Description: p.Description, Type: p.Type, Format: p.Format, Default: p.Default,
		Secret: secretive.MatchString(name) || secretive.MatchString(p.Title)}
	switch p.Type {
	case "string":
		f.least, f.most = p.MinLength, p.MaxLength
		f.Options = optionsOf(p.Enum, p.EnumNames, p.OneOf)
		if p.Pattern != "" {
			if f.pattern, err = regexp.Compile(p.Pattern); err != nil {
				return f, fmt.Errorf("has a pattern that cannot be checked: %w", err)
			}
		}
	case "number", "integer":
		f.least, f.most, f.exclLeast, f.exclTo = p.Minimum, p.Maximum, p.ExclusiveMinimum, p.ExclusiveMaximum
	case "boolean":
	case "array":
		if p.Items != nil {
			f.Options = optionsOf(p.Items.Enum, nil, slices.Concat(p.Items.AnyOf, p.Items.OneOf))
		}
		if len(f.Options) == 0 {
			return f, fmt.Errorf("is a list without choices")
		}
		f.least, f.most = p.MinItems, p.MaxItems
	default:
		return f, fmt.Errorf("has the type %.40q", p.Type)
	}
	return f, nil
}

func optionsOf(values, names []string, list []titled) (options []InputOption) {
	for i, v := range values {
		o := InputOption{Value: v}
		if i < len(names) {
			o.Title = names[i]
		}
		options = append(options, o)
	}
	for _, one := range list {
		options = append(options, InputOption{one.Const, one.Title})
	}
	return options
}

// InputError says what is wrong with the value of a field; Name is "" if it is wrong with all of them.
type InputError struct{ Name, Text, Hint string }

func (e *InputError) Error() string {
	if e.Name == "" {
		return e.Text
	}
	return fmt.Sprintf("the value of %.100q %s", e.Name, e.Text)
}

// Values checks what a person gives for the fields, and returns it as the recipient expects it. Texts are read as numbers, yes or no and
// lists where a field is one. Fields without a value that are not required are left out. Errors are *InputError.
func (in *CallInput) Values(given map[string]json.RawMessage) (json.RawMessage, error) {
	fields, err := in.Fields()
	if err != nil {
		return nil, &InputError{Text: err.Error(), Hint: "reject it"}
	}
	values := map[string]any{}
	for i := range fields {
		f := &fields[i]
		value, has := given[f.Name]
		if !has || isBlank(value) && (f.Type != "string" || len(f.Options) > 0 || !f.Required) {
			if f.Required {
				return nil, &InputError{f.Name, "is missing", "give a value for each of " + requiredOf(fields)}
			}
			continue
		}
		if values[f.Name], err = f.value(value); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(fields, func(f InputField) bool { return f.Name == name }) {
			return nil, &InputError{name, "is not asked for", "leave it out"}
		}
	}
	text, err := json.Marshal(values)
	switch {
	case err != nil:
		return nil, &InputError{Text: "the values are not JSON", Hint: "give texts, numbers, true, false or lists of texts"}
	case len(text) > MaxInputValues:
		return nil, &InputError{Text: fmt.Sprintf("the values have %d bytes", len(text)), Hint: fmt.Sprintf("give at most %d", MaxInputValues)}
	case Mask(string(text)) != string(text):
		return nil, &InputError{Text: "the values contain a secret, which is not stored", Hint: "never give a server a password or a key this way: set it in its configuration"}
	}
	return text, nil
}

func isBlank(value json.RawMessage) bool {
	text := string(bytes.TrimSpace(value))
	return text == "" || text == "null" || text == `""`
}

func requiredOf(fields []InputField) string {
	var names []string
	for i := range fields {
		if fields[i].Required {
			names = append(names, fields[i].Name)
		}
	}
	return strings.Join(names, ", ")
}

// value is a value of the field's type.
func (f *InputField) value(given json.RawMessage) (any, error) {
	var v any
	if json.Unmarshal(given, &v) != nil {
		return nil, &InputError{f.Name, "is not JSON", "give a text"}
	}
	text, isText := v.(string)
	switch f.Type {
	case "boolean":
		if isText {
			v = map[string]any{"true": true, "yes": true, "false": false, "no": false}[strings.ToLower(text)]
		}
		if _, is := v.(bool); !is {
			return nil, &InputError{f.Name, "is neither true nor false", "give true or false"}
		}
		return v, nil
	case "number", "integer":
		return f.number(v, text, isText)
	case "array":
		return f.list(v, text, isText)
	}
	if !isText {
		return nil, &InputError{f.Name, "is no text", "give a text"}
	}
	return text, f.checkText(text)
}

func (f *InputField) number(v any, text string, isText bool) (any, error) {
	if isText {
		if n, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
			v = n
		}
	}
	n, is := v.(float64)
	switch {
	case !is, math.IsInf(n, 0), math.IsNaN(n):
		return nil, &InputError{f.Name, "is no number", "give a number"}
	case f.Type == "integer" && (n != math.Trunc(n) || math.Abs(n) > 1<<53):
		return nil, &InputError{f.Name, "is no whole number", "give a whole number"}
	case f.exclLeast != nil && n <= *f.exclLeast:
		return nil, &InputError{f.Name, "is too small", fmt.Sprintf("give more than %v", *f.exclLeast)}
	case f.exclTo != nil && n >= *f.exclTo:
		return nil, &InputError{f.Name, "is too large", fmt.Sprintf("give less than %v", *f.exclTo)}
	}
	return n, f.within(n, "too small", "too large", "")
}

// within checks a value, or a length in some unit.
func (f *InputField) within(n float64, small, large, unit string) error {
	switch {
	case f.least != nil && n < *f.least:
		return &InputError{f.Name, "is " + small, fmt.Sprintf("give at least %v%s", *f.least, unit)}
	case f.most != nil && n > *f.most:
		return &InputError{f.Name, "is " + large, fmt.Sprintf("give at most %v%s", *f.most, unit)}
	}
	return nil
}

func (f *InputField) list(v any, text string, isText bool) (any, error) {
	var chosen []string
	if isText {
		for one := range strings.SplitSeq(text, ",") {
			chosen = append(chosen, strings.TrimSpace(one))
		}
	} else {
		list, is := v.([]any)
		for _, one := range list {
			text, isText := one.(string)
			is = is && isText
			chosen = append(chosen, text)
		}
		if !is {
			return nil, &InputError{f.Name, "is no list of texts", "give some of " + f.choices()}
		}
	}
	for _, one := range chosen {
		if !f.offers(one) {
			return nil, &InputError{f.Name, "is not one of the choices", "give some of " + f.choices()}
		}
	}
	return chosen, f.within(float64(len(chosen)), "too short", "too long", " choices")
}

func (f *InputField) offers(value string) bool {
	return slices.ContainsFunc(f.Options, func(o InputOption) bool { return o.Value == value })
}

func (f *InputField) choices() string {
	var values []string
	for _, o := range f.Options {
		values = append(values, o.Value)
	}
	return Beginning(strings.Join(values, ", "), 400)
}

func (f *InputField) checkText(text string) error {
	switch {
	case len(f.Options) > 0 && !f.offers(text):
		return &InputError{f.Name, "is not one of the choices", "give one of " + f.choices()}
	case f.pattern != nil && !f.pattern.MatchString(text):
		return &InputError{f.Name, "does not have the form that is asked for", "give a text that matches " + Beginning(f.pattern.String(), 200)}
	case !hasFormat(text, f.Format):
		return &InputError{f.Name, "is no " + Beginning(f.Format, 40), "give one"}
	}
	return f.within(float64(utf8.RuneCountInString(text)), "too short", "too long", " characters")
}

// hasFormat reports whether a text has one of the formats of the protocol. Of other formats nothing is known.
func hasFormat(text, format string) bool {
	var err error
	switch format {
	case "email":
		_, err = mail.ParseAddress(text)
	case "uri":
		var u *url.URL
		u, err = url.Parse(text)
		return err == nil && u.Scheme != ""
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "date-time":
		_, err = time.Parse(time.RFC3339, text)
	}
	return err == nil
}
