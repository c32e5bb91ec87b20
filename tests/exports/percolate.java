// Runs exported percolator queries in Lucene, as Elasticsearch translates them: an intervals query
// over an in-memory index of one line. Standard input: lines "Q<TAB>name<TAB>phrase<TAB>phrase…",
// then "L<TAB>id<TAB>line"; standard output: "id<TAB>name" for each hit.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.LowerCaseFilter;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.Tokenizer;
import org.apache.lucene.analysis.pattern.PatternTokenizer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.index.memory.MemoryIndex;
import org.apache.lucene.queries.intervals.IntervalQuery;
import org.apache.lucene.queries.intervals.Intervals;
import org.apache.lucene.queries.intervals.IntervalsSource;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;

class Percolate {
  static final Analyzer ANALYZER = new Analyzer() {
    @Override protected TokenStreamComponents createComponents(String field) {
      Tokenizer words = new PatternTokenizer(Pattern.compile(System.getProperty("pattern")), -1);
      return new TokenStreamComponents(words, new LowerCaseFilter(words));
    }
  };

  static IntervalsSource phrase(String text) throws Exception {
    List<IntervalsSource> terms = new ArrayList<>();
    try (TokenStream stream = ANALYZER.tokenStream("message", new StringReader(text))) {
      CharTermAttribute term = stream.addAttribute(CharTermAttribute.class);
      stream.reset();
      while (stream.incrementToken()) terms.add(Intervals.term(term.toString()));
    }
    return Intervals.phrase(terms.toArray(new IntervalsSource[0]));
  }

  public static void main(String[] none) throws Exception {
    Map<String, Query> queries = new LinkedHashMap<>();
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String row = in.readLine(); row != null; row = in.readLine()) {
      String[] parts = row.split("\t", -1);
      if (parts[0].equals("Q")) {
        List<IntervalsSource> all = new ArrayList<>();
        for (int n = 2; n < parts.length; n++) all.add(phrase(parts[n]));
        IntervalsSource whole = Intervals.ordered(all.toArray(new IntervalsSource[0]));
        queries.put(parts[1], new IntervalQuery("message", whole));
        continue;
      }
      MemoryIndex index = new MemoryIndex();
      index.addField("message", parts[2], ANALYZER);
      IndexSearcher searcher = index.createSearcher();
      for (Map.Entry<String, Query> one : queries.entrySet())
        if (searcher.count(one.getValue()) > 0) out.println(parts[1] + "\t" + one.getKey());
    }
    out.flush();
  }
}
