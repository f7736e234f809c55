// Command sbom prints the bill of materials of a built program: the modules that are linked into it, by what the
// program says of itself, in SPDX 2.3.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

type document struct {
	SPDXVersion       string         `json:"spdxVersion"`
	DataLicense       string         `json:"dataLicense"`
	SPDXID            string         `json:"SPDXID"`
	Name              string         `json:"name"`
	DocumentNamespace string         `json:"documentNamespace"`
	CreationInfo      creation       `json:"creationInfo"`
	Packages          []part         `json:"packages"`
	Relationships     []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type part struct {
	SPDXID           string     `json:"SPDXID"`
	Name             string     `json:"name"`
	VersionInfo      string     `json:"versionInfo"`
	DownloadLocation string     `json:"downloadLocation"`
	FilesAnalyzed    bool       `json:"filesAnalyzed"`
	LicenseConcluded string     `json:"licenseConcluded"`
	LicenseDeclared  string     `json:"licenseDeclared"`
	CopyrightText    string     `json:"copyrightText"`
	ExternalRefs     []external `json:"externalRefs"`
}

type external struct {
	ReferenceCategory string `json:"referenceCategory"`
	ReferenceType     string `json:"referenceType"`
	ReferenceLocator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

func main() {
	version := flag.String("version", "", "the release's version")
	at := flag.Int64("time", 0, "when it was made, in seconds since 1970")
	flag.Parse()
	if err := write(flag.Arg(0), *version, time.Unix(*at, 0).UTC()); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(program, version string, at time.Time) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	const itself = "SPDXRef-croft"
	doc := document{
		SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", SPDXID: "SPDXRef-DOCUMENT", Name: "croft-" + version,
		DocumentNamespace: "https://github.com/croft-sh/croft/releases/v" + version + "/sbom",
		CreationInfo:      creation{at.Format(time.RFC3339), []string{"Tool: croft/packaging/sbom"}},
		Packages:          []part{module(itself, info.Main.Path, "v"+version, "Apache-2.0"), module("SPDXRef-go", "stdlib", strings.TrimPrefix(info.GoVersion, "go"), "BSD-3-Clause")},
		Relationships:     []relationship{{"SPDXRef-DOCUMENT", "DESCRIBES", itself}, {itself, "DEPENDS_ON", "SPDXRef-go"}},
	}
	for i, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		id := fmt.Sprintf("SPDXRef-module-%d", i+1)
		doc.Packages = append(doc.Packages, module(id, dep.Path, dep.Version, "NOASSERTION"))
		doc.Relationships = append(doc.Relationships, relationship{itself, "DEPENDS_ON", id})
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(text, '\n'))
	return err
}

func module(id, path, version, license string) part {
	return part{
		SPDXID: id, Name: path, VersionInfo: version, DownloadLocation: "NOASSERTION", LicenseConcluded: "NOASSERTION", LicenseDeclared: license,
		CopyrightText: "NOASSERTION",
		ExternalRefs:  []external{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + version}},
	}
}
