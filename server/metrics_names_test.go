package server

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// metricShape is the type of a metric, and the labels by which it is told apart.
type metricShape struct {
	Type   string
	Labels []string
}

// prefixOfMetrics is that of all names of ours.
const prefixOfMetrics = "openclawd_"

// describedMetrics are all metrics that a program can show, by name, whether they have a value yet or not.
func describedMetrics(t *testing.T) map[string]metricShape {
	t.Helper()
	shapes := map[string]metricShape{}
	form := regexp.MustCompile(`^Desc\{fqName: "(\w+)", .*variableLabels: \{([^}]*)\}\}$`)
	add := func(d *prometheus.Desc, kind string) {
		m := form.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("%s: a description that this test cannot read", d)
		}
		shape := metricShape{Type: kind}
		if m[2] != "" {
			shape.Labels = strings.Split(m[2], ",")
		}
		shapes[m[1]] = shape
	}
	ours := newMetricsCollector(nil)
	add(ours.build, "gauge")
	for _, f := range ours.list {
		add(f.desc, map[prometheus.ValueType]string{prometheus.GaugeValue: "gauge", prometheus.CounterValue: "counter"}[f.kind])
	}
	for _, c := range slices.Concat(newRunMetrics().all(), newChannelMetrics().all()) {
		kind := ""
		switch c.(type) {
		case *prometheus.HistogramVec, prometheus.Histogram:
			kind = "histogram"
		case *prometheus.CounterVec, prometheus.Counter:
			kind = "counter"
		default:
			t.Fatalf("%T is of no type that this test knows", c)
		}
		descs := make(chan *prometheus.Desc, 10)
		c.Describe(descs)
		close(descs)
		for d := range descs {
			add(d, kind)
		}
	}
	return shapes
}

// scrapedMetrics are the types of the metrics that a live server shows, its own and those of the Go runtime, by name.
func scrapedMetrics(t *testing.T) map[string]string {
	t.Helper()
	p, ready := testProgram(t)
	p.opts.Gateway = "127.0.0.1:0"
	api, _ := starts(t, p, ready)
	answer, err := http.Get("http://" + api.String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) == 4 && words[1] == "TYPE" {
			types[words[2]] = words[3]
		}
	}
	return types
}

// A scrape shows only documented metrics, with the documented types.
func TestMetricsAreWhatTheyAreDescribedAs(t *testing.T) {
	t.Parallel()
	described, scraped := describedMetrics(t), scrapedMetrics(t)
	ours := 0
	for name, kind := range scraped {
		if !strings.HasPrefix(name, prefixOfMetrics) {
			continue
		}
		if ours++; described[name].Type != kind {
			t.Errorf("%s is a %s, described as %q", name, kind, described[name].Type)
		}
	}
	if ours < 40 {
		t.Errorf("a live server shows %d metrics of ours, want most of the %d", ours, len(described))
	}
}

// The handbook's table lists exactly the metrics, with types and labels.
func TestHandbookListsEveryMetric(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "docs", "operations", "monitor.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "\n| metric | type | meaning | suggested alert |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	if !found {
		t.Fatal("docs/operations/monitor.md has no table of metrics")
	}
	listed := map[string]metricShape{}
	name := regexp.MustCompile("`(\\w+)(?:\\{([\\w,]+)\\})?`")
	for _, row := range strings.Split(table, "\n")[1:] {
		cells := strings.Split(row, " | ")
		names, types := name.FindAllStringSubmatch(cells[0], -1), strings.Split(cells[1], ", ")
		if len(types) != 1 && len(types) != len(names) {
			t.Errorf("%s: %d types for %d metrics", row, len(types), len(names))
			continue
		}
		for i, m := range names {
			shape := metricShape{Type: types[min(i, len(types)-1)]}
			if m[2] != "" {
				shape.Labels = strings.Split(m[2], ",")
			}
			if _, twice := listed[prefixOfMetrics+m[1]]; twice {
				t.Errorf("%s is listed twice", m[1])
			}
			listed[prefixOfMetrics+m[1]] = shape
		}
	}
	if diff := cmp.Diff(describedMetrics(t), listed); diff != "" {
		t.Errorf("docs/operations/monitor.md, -described +listed:\n%s", diff)
	}
}

// dashboard is what of Grafana's model the test looks at.
type dashboard struct {
	UID           string
	Title         string
	SchemaVersion int
	Panels        []struct {
		ID                       int
		Type, Title, Description string
		GridPos                  struct{ H, W, X, Y int }
		Datasource               struct{ UID string }
		Targets                  []struct{ Expr, LegendFormat, RefID string }
	}
	Annotations struct{ List []struct{ Expr string } }
	Templating  struct {
		List []struct{ Name, Type, Definition string }
	}
}

// The dashboard uses every metric, and only existing ones, with their labels.
func TestDashboardAsksForWhatIsThere(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "docs", "grafana", "openclawd.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	const newest = 41 // schema of Grafana 11 and 12
	if d.UID == "" || d.Title == "" || d.SchemaVersion < newest {
		t.Errorf("%q %q of schema %d, want a name and schema %d", d.UID, d.Title, d.SchemaVersion, newest)
	}
	asks := newAskedMetrics(t)
	for _, v := range d.Templating.List {
		asks.look("variable "+v.Name, v.Definition, "")
	}
	for _, a := range d.Annotations.List {
		asks.look("annotation", a.Expr, "")
	}
	if len(d.Templating.List) == 0 || d.Templating.List[0].Type != "datasource" || d.Templating.List[0].Name != "datasource" {
		t.Error("the data source cannot be chosen")
	}
	var rows []string
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: its id %d is another one's", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies over %q, or beyond the edge", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		if len(p.Targets) == 0 || p.Title == "" || p.Description == "" || p.Datasource.UID != "${datasource}" {
			t.Errorf("%s asks %q %d questions, and says %q", p.Title, p.Datasource.UID, len(p.Targets), p.Description)
		}
		for _, target := range p.Targets {
			asks.look(p.Title, target.Expr, target.LegendFormat)
		}
	}
	want := []string{"Overview", "Log", "Projections", "Agents and runs", "Flows", "Tasks", "Channels", "Discord", "Gateway and API", "Disk and process"}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("rows, -want +got:\n%s", diff)
	}
	for _, name := range slices.Sorted(maps.Keys(asks.described)) {
		if !asks.names[name] {
			t.Errorf("no panel asks for %s", name)
		}
	}
}

// askedMetrics are those that a dashboard asks for, held against those that there are.
type askedMetrics struct {
	t         *testing.T
	described map[string]metricShape
	scraped   map[string]string
	names     map[string]bool
}

func newAskedMetrics(t *testing.T) *askedMetrics {
	t.Helper()
	return &askedMetrics{t, describedMetrics(t), scrapedMetrics(t), map[string]bool{}}
}

// partOfHistogram is the end of the names under which Prometheus stores a histogram.
var partOfHistogram = regexp.MustCompile(`_(bucket|sum|count)$`)

// look reads an expression of PromQL, and the legend of what comes of it.
func (a *askedMetrics) look(where, expr, legend string) {
	a.t.Helper()
	labels := []string{"job", "instance", "le"}
	for _, name := range regexp.MustCompile(`\b(?:openclawd|go|process)_\w+`).FindAllString(expr, -1) {
		whole := partOfHistogram.ReplaceAllString(name, "")
		shape, ours := a.described[name]
		if !ours && a.described[whole].Type == "histogram" {
			shape, ours, name = a.described[whole], true, whole
		}
		if !ours && a.scraped[name] == "" {
			a.t.Errorf("%s asks for %s, which is not there", where, name)
		}
		if shape.Type == "counter" && !regexp.MustCompile(`(rate|increase)\(`+name+`\{`).MatchString(expr) {
			a.t.Errorf("%s shows the counter %s as it stands, want its rate", where, name)
		}
		a.names[name] = true
		labels = append(labels, shape.Labels...)
	}
	used := regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(legend, -1)
	for _, by := range regexp.MustCompile(`by \(([\w, ]+)\)`).FindAllStringSubmatch(expr, -1) {
		for label := range strings.SplitSeq(by[1], ", ") {
			used = append(used, []string{"", label})
		}
	}
	for _, u := range used {
		if !slices.Contains(labels, u[1]) {
			a.t.Errorf("%s tells apart by %q, want one of %q", where, u[1], labels)
		}
	}
}
