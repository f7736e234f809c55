package foreign

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// keyOrder says at which place of a TOML file each of its keys stands first, by its dotted path. The tables of an array
// have their number behind their name: hook[1].key.
type keyOrder map[string]int

// readOrder reads the order of the keys of a file that is TOML. A decoder's maps do not have it.
func readOrder(text []byte) keyOrder {
	order, tables := keyOrder{}, map[string]int{}
	var parser unstable.Parser
	parser.Reset(text)
	table := ""
	for parser.NextExpression() {
		switch node := parser.Expression(); node.Kind {
		case unstable.Table:
			table = dotted("", node)
		case unstable.ArrayTable:
			name := dotted("", node)
			table = fmt.Sprintf("%s[%d]", name, tables[name])
			tables[name]++
		case unstable.KeyValue:
			order.add(table, node)
		default:
		}
	}
	return order
}

// add adds a key of a table, and the keys of tables in its value.
func (o keyOrder) add(table string, node *unstable.Node) {
	name := dotted(table, node)
	if _, isThere := o[name]; !isThere && len(o) < mostKeys {
		o[name] = len(o)
	}
	o.addValue(name, node.Value())
}

func (o keyOrder) addValue(name string, value *unstable.Node) {
	switch value.Kind {
	case unstable.InlineTable:
		for children := value.Children(); children.Next(); {
			if child := children.Node(); child.Kind == unstable.KeyValue {
				o.add(name, child)
			}
		}
	case unstable.Array:
		i := 0
		for children := value.Children(); children.Next(); i++ {
			o.addValue(shortPath(fmt.Sprintf("%s[%d]", name, i)), children.Node())
		}
	default:
	}
}

// dotted returns the path of a key of a table.
func dotted(table string, node *unstable.Node) string {
	var parts []string
	if table != "" {
		parts = append(parts, table)
	}
	for keys := node.Key(); keys.Next(); {
		parts = append(parts, string(keys.Node().Data))
	}
	return shortPath(strings.Join(parts, "."))
}

// mostKeys is how many keys of a file have a place.
const mostKeys = 10_000

// shortPath bounds a path: an agent can write a long header with many keys below it.
func shortPath(path string) string {
	const most = 1024
	return path[:min(len(path), most)]
}

// names returns the keys of a table in the order of the file.
func (o keyOrder) names(table string, values map[string]any) []string {
	return slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		return cmp.Or(cmp.Compare(o[table+"."+a], o[table+"."+b]), cmp.Compare(a, b))
	})
}
